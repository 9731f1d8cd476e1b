import { Injectable } from '@nestjs/common';
import { PersonalData, PersonalDataHolders, type Candidate } from '../platform/personal-data.js';
import { isObject } from '../platform/validation/fields.js';
import { ImportStore } from './import-store.js';
import type { WaitingRow } from './imports.rules.js';

const ERASED_ROW: WaitingRow = {
  fault: { pointer: '', code: 'candidate_erased', detail: 'The candidate was erased before the row was done.' },
};

/** Rows that wait to be done; those that are done are not kept. */
@Injectable()
export class ImportPersonalData extends PersonalData {
  constructor(
    private readonly store: ImportStore,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export({ accountCode, candidateId }: Candidate): Promise<Record<string, unknown>> {
    const rows: unknown[] = [];
    for await (const chunk of this.store.waiting(accountCode, false))
      rows.push(...chunk.rows.map(valueOf).filter((value) => isOf(value, candidateId)));
    return { import_rows: rows };
  }

  erase(): Promise<void> {
    return Promise.resolve();
  }

  /** The chunks stay locked until the transaction ends: a worker does them before or after, and never meanwhile. */
  override async withhold({ accountCode, candidateId }: Candidate): Promise<void> {
    for await (const chunk of this.store.waiting(accountCode, true)) {
      const rows = chunk.rows.map((row) => (isOf(valueOf(row), candidateId) ? ERASED_ROW : row));
      if (rows.includes(ERASED_ROW)) await this.store.replaceRows(chunk, rows);
    }
  }
}

function valueOf(row: WaitingRow): unknown {
  if ('value' in row) return row.value;
  if (!('line' in row)) return null;
  try {
    return JSON.parse(row.line);
  } catch {
    return null;
  }
}

function isOf(value: unknown, candidateId: string): boolean {
  if (!isObject(value) || !isObject(value['candidate'])) return false;
  return value['candidate']['candidate_id'] === candidateId;
}
