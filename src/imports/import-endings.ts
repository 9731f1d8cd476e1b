import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { ImportStore } from './import-store.js';
import type { Import } from './import.entity.js';
import { importEnded } from './imports.errors.js';
import type { Ending } from './imports.rules.js';

/**
 * The audit action for each way in which an import can end early. BODY_LOST has no audit action, because no user causes
 * it.
 */
const ACTION: Record<Exclude<Ending, 'BODY_LOST'>, string> = {
  ABORTED: 'import.abort',
  ABORTED_BY_OPERATOR: 'import.abort',
  ACCESS_LOST: 'import.access_lost',
};

/** Ends imports early. The outcomes of processed rows are kept; unprocessed rows are deleted immediately. */
@Injectable()
export class ImportEndings {
  constructor(
    private readonly store: ImportStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Aborts the import.
   * @throws DomainError import_ended
   */
  async abort(id: string, ending: 'ABORTED' | 'ABORTED_BY_OPERATOR'): Promise<Import> {
    const ended = await this.end(id, ending);
    if (ended === null) throw importEnded.error();
    return ended;
  }

  /** Ends the import and returns it. Returns null if the import had already ended. */
  async end(id: string, ending: Ending): Promise<Import | null> {
    const now = this.clock.now();
    const ended = await this.unitOfWork.run(async () => {
      const row = await this.store.end(id, ending, now);
      if (row !== null && ending !== 'BODY_LOST')
        this.unitOfWork.audit(ACTION[ending], id, { accountCode: row.account_code });
      return row;
    });
    // The unprocessed rows are deleted in a second transaction. A worker locks its chunk before the import, so a single
    // transaction could deadlock with the worker.
    if (ended !== null) await this.store.removeUndone(now);
    return ended;
  }
}
