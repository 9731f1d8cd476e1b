import { FairQueue } from './fair-queue.js';

const flow = (text: string) => ({ group: text[0], member: text[1] });
/** Creates a fair queue, and pushes entries. The name of each entry consists of its group, its member and a number. */
function queueOf(most: number, ...entries: string[]): [FairQueue<string>, (string | null)[]] {
  const queue = new FairQueue<string>(most);
  return [queue, entries.map((entry) => queue.push(flow(entry), entry))];
}
const rest = (queue: FairQueue<string>) => Array.from({ length: queue.length }, () => queue.shift());

describe('a fair queue', () => {
  it('serves the groups of a fair queue in turn, and the members of each group in turn', () => {
    const [queue] = queueOf(9, 'Aa1', 'Aa2', 'Aa3', 'Ab1', 'Ba1', 'Ba2', 'Ca1');
    expect(rest(queue)).toEqual(['Aa1', 'Ba1', 'Ca1', 'Ab1', 'Ba2', 'Aa2', 'Aa3']);
    expect([queue.shift(), queue.length]).toEqual([undefined, 0]);
  });

  it('a fair queue skips a group or a member that may not be served yet, and keeps its position', () => {
    const [queue] = queueOf(9, 'Aa1', 'Ba1', 'Ba2');
    expect([queue.shift(({ group }) => group !== 'A'), ...rest(queue)]).toEqual(['Ba1', 'Aa1', 'Ba2']);
    const [other] = queueOf(9, 'Aa1', 'Ab1', 'Aa2');
    expect([other.shift(({ member }) => member !== 'a'), ...rest(other)]).toEqual(['Ab1', 'Aa1', 'Aa2']);
    expect([queue.has('A'), queueOf(1, 'Aa1')[0].has('A', 'a'), queueOf(1, 'Aa1')[0].has('A', 'b')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('a full fair queue drops an entry from its largest group: the newest entry of the member with the most entries', () => {
    const [queue, dropped] = queueOf(4, 'Aa1', 'Aa2', 'Aa3', 'Ab1', 'Ba1', 'Bb1', 'Ba2', 'Ba3');
    expect(dropped).toEqual([null, null, null, null, 'Aa3', 'Aa2', 'Ba2', 'Ba3']);
    expect(rest(queue)).toEqual(['Aa1', 'Ba1', 'Ab1', 'Bb1']);
  });

  it('a flood from many members of one group delays only that group', () => {
    const strangers = Array.from('abcdefghij', (member) => `S${member}1`);
    const [queue, dropped] = queueOf(5, ...strangers, 'Ca1', 'Ca2');
    expect(dropped.slice(5)).toEqual(['Sf1', 'Sg1', 'Sh1', 'Si1', 'Sj1', 'Se1', 'Sd1']);
    expect(rest(queue)).toEqual(['Sa1', 'Ca1', 'Sb1', 'Ca2', 'Sc1']);
  });
});
