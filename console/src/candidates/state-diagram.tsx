import { stateText } from '../components/badge';
import type { CandidateRecord } from './record-text';

type Status = CandidateRecord['status'];

const [WIDTH, HEIGHT] = [112, 30];
const AT: Record<Status, readonly [x: number, y: number]> = {
  PENDING: [0, 60],
  ELIGIBLE: [160, 60],
  SCHEDULED: [320, 60],
  COMPLETED: [480, 60],
  CANCELLED: [0, 120],
  EXPIRED: [160, 120],
  ABSENT: [320, 120],
};
/** The transitions between the states of a record, as shown in the guide for clients. */
const ARROWS: readonly (readonly [from: Status, to: Status])[] = [
  ['PENDING', 'ELIGIBLE'],
  ['ELIGIBLE', 'PENDING'],
  ['ELIGIBLE', 'SCHEDULED'],
  ['SCHEDULED', 'ELIGIBLE'],
  ['SCHEDULED', 'COMPLETED'],
  ['SCHEDULED', 'ABSENT'],
  ['ABSENT', 'COMPLETED'],
  ['ELIGIBLE', 'EXPIRED'],
  ['EXPIRED', 'ELIGIBLE'],
  ['PENDING', 'EXPIRED'],
  ['PENDING', 'CANCELLED'],
  ['EXPIRED', 'CANCELLED'],
  ['ELIGIBLE', 'COMPLETED'],
];

/**
 * Draws the states of an eligibility record as a diagram, and highlights the current state. Arrows to COMPLETED are
 * drawn only from the usual states, although a result completes a record from every state except CANCELLED.
 */
export function StateDiagram({ status }: { status: Status }) {
  const next = ARROWS.filter(([from]) => from === status).map(([, to]) => to);
  const after = next.length === 0 ? 'none, this is a final state' : next.map(stateText).join(', ');
  const label = `${stateText(status)}; next: ${after}`;
  return (
    <svg className="states" viewBox="-4 0 604 156" role="img" aria-label={label}>
      {ARROWS.map(([from, to]) => (
        <path key={`${from}-${to}`} d={pathOf(from, to)} className={from === status ? 'way open' : 'way'} />
      ))}
      {Object.entries(AT).map(([name, [x, y]]) => (
        <g
          key={name}
          className={name === status ? 'state here' : next.includes(name as Status) ? 'state next' : 'state'}
        >
          <rect x={x} y={y} width={WIDTH} height={HEIGHT} rx="6" />
          <text x={x + WIDTH / 2} y={y + HEIGHT / 2}>
            {stateText(name)}
          </text>
        </g>
      ))}
    </svg>
  );
}

/**
 * Returns the SVG path of an arrow between two states. Between neighbours in a row, the arrow is horizontal, and
 * opposite arrows are parallel. If another state is in between, the arrow runs above the row. An arrow to another row
 * is a straight line.
 */
function pathOf(from: Status, to: Status): string {
  const [[x1, y1], [x2, y2]] = [AT[from], AT[to]];
  const middle = WIDTH / 2;
  if (y1 === y2 && Math.abs(x2 - x1) > 200) {
    return `M${x1 + middle},${y1} C${x1 + middle},${y1 - 50} ${x2 + middle},${y1 - 50} ${x2 + middle},${y2}`;
  }
  if (y1 === y2) {
    const [start, end, y] = x1 < x2 ? [x1 + WIDTH, x2, y1 + 10] : [x1, x2 + WIDTH, y1 + 20];
    return `M${start},${y} L${end},${y}`;
  }
  const down = y2 > y1;
  const shift = down ? -8 : 8;
  return `M${x1 + middle + shift},${down ? y1 + HEIGHT : y1} L${x2 + middle + shift},${down ? y2 : y2 + HEIGHT}`;
}
