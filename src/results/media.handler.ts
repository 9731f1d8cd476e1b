import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Database } from '../platform/database/database.js';
import { ForgetMedia } from './results.commands.js';

/** Few at a time: each may be megabytes. */
const BATCH = 100;

@CommandHandler(ForgetMedia)
export class ForgetMediaHandler implements ICommandHandler<ForgetMedia> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, media, before }: ForgetMedia): Promise<number> {
    const text = `UPDATE result_revisions SET ${media} = NULL WHERE (svc_eligiblity_id, revision) IN (
       SELECT svc_eligiblity_id, revision FROM result_revisions
       WHERE account_code = $1 AND received_datetime < $2 AND ${media} IS NOT NULL
       ORDER BY received_datetime LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`;
    let total = 0;
    for (;;) {
      const forgotten = await this.database.execute({ text }, [accountCode, before]);
      total += forgotten;
      if (forgotten < BATCH) return total;
    }
  }
}
