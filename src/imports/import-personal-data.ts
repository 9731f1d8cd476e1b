import { Injectable } from '@nestjs/common';
import { folded, namesPerson } from '../platform/person.js';
import { PersonalData, PersonalDataHolders, type Candidate, type Subject } from '../platform/personal-data.js';
import { isObject } from '../platform/validation/fields.js';
import { Columns } from './columns.js';
import { ImportStore } from './import-store.js';
import type { RowOutcome, WaitingRow } from './imports.rules.js';

const ERASED_ROW = (line: number): WaitingRow => ({
  line,
  fault: { pointer: '', code: 'candidate_erased', detail: 'The candidate was erased before the row was processed.' },
});

/** Exports and erases personal data in imports, both in unprocessed rows and in the reports about processed rows. */
@Injectable()
export class ImportPersonalData extends PersonalData {
  constructor(
    private readonly store: ImportStore,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export(subject: Subject): Promise<Record<string, unknown>> {
    const { accountCode, candidateId } = subject;
    const import_rows: unknown[] = [];
    for await (const chunk of this.store.waiting(accountCode, false))
      import_rows.push(
        ...chunk.rows.filter((row) => isOf(row, chunk.columns, candidateId)).map(shownOf(chunk.columns)),
      );
    const import_reports: unknown[] = [];
    for await (const { import_id, outcomes } of this.store.done(accountCode))
      for (const [outcome, line, ...rest] of outcomes.filter((row) => tellsOf(row, subject))) {
        const [candidate_id, test_code, svc_eligiblity_id, faults = []] = rest;
        import_reports.push({ import_id, outcome, line, candidate_id, test_code, svc_eligiblity_id, faults });
      }
    const named = await this.filesNamed(subject);
    return { import_rows, import_reports, import_files: named.map(({ file_name }) => file_name) };
  }

  /** Erases the person's data from the reports and the file names of imports. The outcomes of the rows remain. */
  async erase(subject: Subject, pseudonym: string): Promise<void> {
    for await (const chunk of this.store.done(subject.accountCode)) {
      if (!chunk.outcomes.some((row) => tellsOf(row, subject))) continue;
      const outcomes = chunk.outcomes.map((row) => (tellsOf(row, subject) ? withoutPerson(row, pseudonym) : row));
      await this.store.replaceOutcomes(chunk, outcomes);
    }
    const named = await this.filesNamed(subject);
    await this.store.replaceFileNames(
      subject.accountCode,
      named.map(({ import_id }) => import_id),
      'erased',
    );
  }

  private async filesNamed({ accountCode, person }: Subject): Promise<{ import_id: string; file_name: string }[]> {
    const files = await this.store.fileNames(accountCode);
    return files.filter(({ file_name }) => namesPerson(file_name, person));
  }

  /**
   * Replaces each unprocessed row of the candidate with an empty row that has the fault `candidate_erased`. The chunks
   * stay locked until the transaction ends, so that no worker processes the rows before then.
   */
  override async withhold({ accountCode, candidateId }: Candidate): Promise<void> {
    for await (const chunk of this.store.waiting(accountCode, true)) {
      if (!chunk.rows.some((row) => isOf(row, chunk.columns, candidateId))) continue;
      const rows = chunk.rows.map((row) => (isOf(row, chunk.columns, candidateId) ? ERASED_ROW(row.line) : row));
      await this.store.replaceRows(chunk, rows);
    }
  }
}

function isOf(row: WaitingRow, columns: readonly string[] | null, candidateId: string): boolean {
  if ('cells' in row) return Columns.of(columns!).cellAt(row.cells, 'candidate_id') === candidateId;
  const value = valueOf(row);
  return isObject(value) && isObject(value['candidate']) && value['candidate']['candidate_id'] === candidateId;
}

function valueOf(row: WaitingRow): unknown {
  if (!('json' in row)) return null;
  try {
    return JSON.parse(row.json);
  } catch {
    return null;
  }
}

/** Returns a row as it appears in an export of the candidate's data, with each cell under the name of its column. */
function shownOf(columns: readonly string[] | null): (row: WaitingRow) => unknown {
  return (row) =>
    'cells' in row ? Object.fromEntries(columns!.map((name, index) => [name, row.cells[index] ?? ''])) : valueOf(row);
}

/**
 * Returns whether a row of a report concerns the person. A row does so if it names the person's record, the person's id
 * in any spelling, or a value that identifies the person.
 */
function tellsOf([, , candidateId, , record, faults = []]: RowOutcome, subject: Subject): boolean {
  if (subject.svcEligibilityIds.includes(record) || folded(candidateId) === folded(subject.candidateId)) return true;
  return faults.some(({ value }) => value !== undefined && namesPerson(value, subject.person));
}

function withoutPerson([outcome, line, , testCode, record, faults]: RowOutcome, pseudonym: string): RowOutcome {
  const kept = faults?.map(({ pointer, code, detail, column }) => ({ pointer, code, detail, column }));
  return [outcome, line, pseudonym, testCode, record, ...(kept === undefined ? [] : [kept])] as RowOutcome;
}
