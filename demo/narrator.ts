const COLOURED = process.stdout.isTTY && !process.env['NO_COLOR'];
const paint = (code: number) => (text: string) => (COLOURED ? `\u001b[${code}m${text}\u001b[0m` : text);

const bold = paint(1);
export const dim = paint(2);
export const green = paint(32);
const red = paint(31);
export const cyan = paint(36);

/** Prints the steps of the demo to standard output. */
export class Narrator {
  private steps = 0;
  /** The title of the current step, for error messages. */
  current = 'the start';

  title(text: string): void {
    this.line(`\n${bold(text)}`);
  }

  step(text: string): void {
    this.current = text;
    this.steps += 1;
    this.line(`\n${bold(`${String(this.steps).padStart(2)}  ${text}`)}`);
  }

  done(what: string, detail = ''): void {
    this.line(`    ${green('✓')} ${what.padEnd(29)} ${dim(detail)}`.trimEnd());
  }

  note(text: string): void {
    this.line(`      ${dim(text)}`);
  }

  json(value: unknown): void {
    for (const line of JSON.stringify(value, null, 2).split('\n')) this.note(line);
  }

  failed(text: string): void {
    this.line(`\n${red('✗')} ${bold(`Failed at: ${this.current}`)}`);
    for (const line of text.split('\n')) this.line(`  ${line}`);
  }

  table(rows: readonly (readonly string[])[]): void {
    const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
    for (const row of rows)
      this.line(`    ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd());
  }

  line(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}
