import { isMet, round, type Figure } from './figures.js';

const ROW = 26;
const LABELS = 330;
const BARS = 420;
const VALUES = 130;
const TOP = 48;
/** The scale ends at so many times the goal. */
const SCALE = 2;

/** Each figure as a bar against its goal: the line in the middle. A bar is good on the side that its arrow points to. */
export function plot(figures: readonly Figure[]): string {
  const shown = figures.filter((figure) => figure.goal !== null);
  const width = LABELS + BARS + VALUES;
  const height = TOP + shown.length * ROW + 16;
  const goalX = LABELS + BARS / SCALE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="Measured figures against their goals">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="12" y="24" font-size="15" font-weight="600" fill="#1b1f24">Measured against the goal</text>`,
    `<text x="${goalX}" y="${TOP - 10}" text-anchor="middle" fill="#57606a">goal</text>`,
    ...shown.map((figure, index) => bar(figure, TOP + index * ROW)),
    `<line x1="${goalX}" x2="${goalX}" y1="${TOP - 4}" y2="${height - 12}" stroke="#1b1f24" stroke-dasharray="4 3"/>`,
    '</svg>',
    '',
  ].join('\n');
}

function bar(figure: Figure, y: number): string {
  const goal = figure.goal!;
  const [limit, arrow] = 'atLeast' in goal ? [goal.atLeast, '≥'] : [goal.atMost, '≤'];
  const length = Math.max(2, (Math.min(figure.value / limit, SCALE) / SCALE) * BARS);
  const unit = figure.unit === 'ratio' ? '' : ` ${figure.unit}`;
  const middle = y + ROW / 2 + 4;
  return [
    `<text x="${LABELS - 10}" y="${middle}" text-anchor="end" fill="#1b1f24">${escaped(figure.name)}</text>`,
    `<rect x="${LABELS}" y="${y + 4}" width="${length.toFixed(1)}" height="${ROW - 8}" rx="3" fill="${isMet(figure) ? '#2da44e' : '#cf222e'}"/>`,
    `<text x="${LABELS + BARS + 10}" y="${middle}" fill="#57606a">${round(figure.value)}${unit} (${arrow} ${limit})</text>`,
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
