import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { ImportStore } from './import-store.js';
import type { Import } from './import.entity.js';
import { importEnded } from './imports.errors.js';
import type { Ending } from './imports.rules.js';

/** Action of the audit log. A body that was lost is nobody's doing. */
const ACTION: Record<Exclude<Ending, 'BODY_LOST'>, string> = {
  ABORTED: 'import.abort',
  ABORTED_BY_OPERATOR: 'import.abort',
  ACCESS_LOST: 'import.access_lost',
};

/** Ends imports before their time. Rows that are done stay done; those that are not are removed at once. */
@Injectable()
export class ImportEndings {
  constructor(
    private readonly store: ImportStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /** @throws DomainError import_ended */
  async abort(id: string, ending: 'ABORTED' | 'ABORTED_BY_OPERATOR'): Promise<Import> {
    const ended = await this.end(id, ending);
    if (ended === null) throw importEnded.error();
    return ended;
  }

  /** The import as it ended; null when it had ended before. */
  async end(id: string, ending: Ending): Promise<Import | null> {
    const now = this.clock.now();
    const ended = await this.unitOfWork.run(async () => {
      const row = await this.store.end(id, ending, now);
      if (row !== null && ending !== 'BODY_LOST')
        this.unitOfWork.audit(ACTION[ending], id, { accountCode: row.account_code });
      return row;
    });
    // Not in the same transaction: a worker holds its chunk before the import.
    if (ended !== null) await this.store.removeUndone(now);
    return ended;
  }
}
