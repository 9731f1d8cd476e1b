import { setImmediate as turn } from 'node:timers/promises';
import { BodyRoom } from './body-room.js';

describe('the room for large bodies', () => {
  it('lets in what fits, and the others in their order once there is room', async () => {
    const room = new BodyRoom(10);
    const inside: string[] = [];
    const leave: Record<string, () => void> = {};
    const enter = (name: string, bytes: number) =>
      room.enter(bytes).then((left) => {
        inside.push(name);
        leave[name] = left;
      });
    void enter('a', 6);
    void enter('b', 6);
    void enter('c', 1);
    await turn();
    expect(inside).toEqual(['a']);
    leave['a']();
    await turn();
    expect(inside).toEqual(['a', 'b', 'c']);
  });

  it('lets in alone what is larger than the room', async () => {
    const room = new BodyRoom(10);
    const leave = await room.enter(25);
    let entered = false;
    void room.enter(1).then(() => (entered = true));
    await turn();
    expect(entered).toBe(false);
    leave();
    await turn();
    expect(entered).toBe(true);
  });
});
