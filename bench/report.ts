import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMet, round, type Figure, type Section } from './figures.js';

export interface Report {
  readonly form: 'quick' | 'full';
  /** Whether the run omitted any section of the benchmark. */
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
/**
 * The file with the processor times of earlier runs, one run per line. A run is compared with the last run of the same
 * kind.
 */
const HISTORY = join(RESULTS, 'history.jsonl');
/** The factor by which a processor time must at least rise to be reported. */
const NOTED_RISE = 1.1;
/**
 * The comments in docs/performance.md that mark the beginning and the end of the table. The rest of the page is written
 * by hand.
 */
const BEGIN = '<!-- figures: written by npm run bench -- --full -->';
const END = '<!-- end of figures -->';

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

/**
 * Reports which processor times have risen since the last run with the same options on the same kind of machine. Stores
 * the processor times of this run.
 */
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

/** Writes the report. A quick run does not replace the figures of a full run in the documentation. */
export function writeReport(report: Report): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, 'latest.json'), JSON.stringify(report, null, 2) + '\n');
  writeFileSync(join(RESULTS, 'latest.md'), allSections(report));
  keepProcessorTimes(report);
  process.stdout.write('\nWritten: bench/results/latest.json, bench/results/latest.md\n');
  if (report.form === 'quick' || report.partial) return;
  const [before, rest] = readFileSync(PAGE, 'utf8').split(BEGIN);
  writeFileSync(PAGE, [before, ...askedLines(report), rest.slice(rest.indexOf(END))].join('\n'));
  process.stdout.write('Written: the table of docs/performance.md\n');
}

function runOf({ form, started, cores, node, settings }: Report): string {
  const postgres = Object.entries(settings).map(([name, value]) =>
    name === 'server_version' ? value : `${name}=${value}`,
  );
  return (
    `${form === 'full' ? 'Full' : 'Quick'} run of ${started.toISOString().slice(0, 10)} on ${cores}, Node ${node}, PostgreSQL ` +
    `${postgres.join(', ')}. The load program, the service and PostgreSQL share the cores.`
  );
}

/** Builds the table of cases, which is written between two marker comments in docs/performance.md. */
function askedLines(report: Report): string[] {
  const rows = report.sections.flatMap(({ asked, figures }) =>
    asked.map(({ question, measured, judged }) => {
      const by = Object.entries(judged).map(([name, called]) => ({
        figure: figures.find((one) => one.name === name)!,
        called,
      }));
      const goals = by.filter(({ figure }) => figure.goal !== null);
      const outcomes = new Set(goals.map(({ figure }) => outcomeOf(figure)));
      // If all figures of the row have the same goal and outcome, the text of the goal need not name a figure.
      const isShort = outcomes.size === 1 && goals.length === by.length;
      return [
        question,
        measured,
        by
          .filter(({ figure }) => figure.unit === 'ratio')
          .map(({ figure, called }) => `${valueOf(figure)} ${called}`)
          .join(', '),
        [...new Set(goals.map(({ figure, called }) => outcomeOf(figure, isShort ? undefined : called)))].join(', '),
      ];
    }),
  );
  return [BEGIN, '', runOf(report), '', ...table([['Case', 'Measured', 'Comparison', 'Goal'], ...rows]), ''];
}

function allSections(report: Report): string {
  return [
    runOf(report),
    ...report.sections.flatMap((section) => [
      '',
      `## ${section.title}`,
      '',
      section.method,
      '',
      ...table(section.table),
    ]),
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

function outcomeOf(figure: Figure, called?: string): string {
  return `${goalOf(figure, called)} (${isMet(figure) ? 'met' : 'missed'})`;
}

function goalOf({ goal, unit }: Figure, called = unit === 'ratio' ? 'times' : ''): string {
  if (goal === null) return '';
  const [word, limit] = 'atLeast' in goal ? ['at least', goal.atLeast] : ['at most', goal.atMost];
  return unit === 'ratio' ? `${word} ${limit} ${called}` : `${called} ${word} ${limit} ${unit}`.trim();
}
