import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMet, round, type Figure, type Section } from './figures.js';
import { plot } from './plot.js';

export interface Report {
  readonly form: 'quick' | 'full';
  /** Some sections were left out. */
  readonly partial: boolean;
  readonly started: Date;
  readonly cores: string;
  readonly node: string;
  readonly settings: Record<string, string>;
  readonly sections: readonly Section[];
}

const ROOT = join(__dirname, '../..');
const RESULTS = join(ROOT, 'bench/results');
const PAGE = join(ROOT, 'docs/performance.md');
const FULL_FORM = 'full form';
/** One line for each run with processor times: the next one is compared with the last. */
const HISTORY = join(RESULTS, 'history.jsonl');
/** What processor times may rise by before it is said. */
const NOTED_RISE = 1.1;
/** What follows is written by hand, of programs that are run by themselves: it stays. */
const BY_HAND = '\n## Programs of their own\n';

export function printSection(section: Section): void {
  const widths = section.table[0].map((_, column) => Math.max(...section.table.map((row) => row[column].length)));
  process.stdout.write(`\n${section.title}\n`);
  for (const row of section.table)
    process.stdout.write(
      `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  ')}\n`,
    );
  for (const figure of section.figures)
    if (figure.goal) process.stdout.write(`  ${mark(figure)} ${figure.name}: ${valueOf(figure)} (${goalOf(figure)})\n`);
}

interface HistoryLine extends Pick<Report, 'form' | 'cores' | 'node'> {
  readonly at: string;
  readonly microseconds: Readonly<Record<string, number>>;
}

/** Says which processor times have risen since the last run of this form on such a machine, and keeps those of this one. */
function keepProcessorTimes({ form, cores, node, started, sections }: Report): void {
  const figures = sections.flatMap((section) => section.figures).filter(({ unit }) => unit === 'µs');
  if (figures.length === 0) return;
  const lines = existsSync(HISTORY) ? readFileSync(HISTORY, 'utf8').trim().split('\n') : [];
  const last = lines
    .map((line) => JSON.parse(line) as HistoryLine)
    .findLast((line) => line.form === form && line.cores === cores);
  process.stdout.write(`\nProcessor times${last ? `, beside those of ${last.at.slice(0, 10)}` : ''}\n`);
  for (const { name, value } of figures) {
    const before = last?.microseconds[name];
    const rise = before === undefined ? '' : `, ${round(value / before)} of ${round(before)}`;
    const mark = before !== undefined && value / before > NOTED_RISE ? '✗ risen:' : ' ';
    process.stdout.write(`  ${mark} ${name}: ${round(value)} µs${rise}\n`);
  }
  const microseconds = Object.fromEntries(figures.map(({ name, value }) => [name, Number(round(value))]));
  const line: HistoryLine = { at: started.toISOString(), form, cores, node, microseconds };
  appendFileSync(HISTORY, `${JSON.stringify(line)}\n`);
}

/** A quick run does not take the place of the figures of a full one in the documentation. */
export function writeReport(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, 'latest.json'), JSON.stringify(report, null, 2) + '\n');
  const svg = plot(report.sections.flatMap((section) => section.figures));
  writeFileSync(join(RESULTS, 'performance.svg'), svg);
  writeFileSync(join(RESULTS, 'performance.md'), page(report));
  keepProcessorTimes(report);
  const documented = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
  if (report.partial || (report.form === 'quick' && documented.includes(FULL_FORM))) {
    process.stdout.write('\ndocs/performance.md keeps the figures of the last full run; these are in bench/results.\n');
    return;
  }
  const byHand = documented.indexOf(BY_HAND);
  writeFileSync(PAGE, page(report) + (byHand < 0 ? '' : documented.slice(byHand)));
  writeFileSync(join(ROOT, 'docs/performance.svg'), svg);
  process.stdout.write('\nWritten: docs/performance.md, docs/performance.svg, bench/results/latest.json\n');
}

function page({ form, started, cores, node, settings, sections }: Report): string {
  const figures = sections.flatMap((section) => section.figures.filter((figure) => figure.goal !== null));
  return [
    '# Performance',
    '',
    'Each figure is measured against something else in the same run: a ceiling, a peer, the same service on little data,',
    'the same service left alone. Ratios outlive machines; the absolute numbers beside them do not.',
    'Written by `npm run bench -- --full`; what was tried to get there stands in',
    '[decision 11](decisions/0011-performance.md).',
    '',
    `${form === 'full' ? FULL_FORM : 'quick form'}, ${started.toISOString().slice(0, 10)}, ${cores}, Node ${node}, ` +
      `PostgreSQL ${Object.entries(settings)
        .map(([name, value]) => (name === 'server_version' ? value : `${name}=${value}`))
        .join(', ')}. Load program, service and PostgreSQL share the cores.`,
    '',
    '![Measured figures against their goals](performance.svg)',
    '',
    ...table([
      ['Figure', 'Measured', 'Goal', ''],
      ...figures.map((figure) => [figure.name, valueOf(figure), goalOf(figure), isMet(figure) ? 'met' : 'missed']),
    ]),
    ...sections.flatMap((section) => ['', `## ${section.title}`, '', section.method, '', ...table(section.table)]),
    '',
  ].join('\n');
}

function table([head, ...rows]: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)];
}

function mark(figure: Figure): string {
  return isMet(figure) ? '✓' : '✗';
}

function valueOf({ value, unit }: Figure): string {
  return unit === 'ratio' ? round(value) : `${round(value)} ${unit}`;
}

function goalOf({ goal, unit }: Figure): string {
  if (goal === null) return '';
  const [word, limit] = 'atLeast' in goal ? ['at least', goal.atLeast] : ['at most', goal.atMost];
  return unit === 'ratio' ? `${word} ${limit}` : `${word} ${limit} ${unit}`;
}
