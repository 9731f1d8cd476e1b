import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Database } from '../../platform/database/database.js';
import { ForgetMedia } from '../results.commands.js';

/**
 * The number of rows that one statement changes. The number is small, because each photo or video link may be several
 * megabytes long.
 */
const BATCH = 100;

@CommandHandler(ForgetMedia)
export class ForgetMediaHandler implements ICommandHandler<ForgetMedia> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, media, before }: ForgetMedia): Promise<number> {
    const kept = `received_datetime < $2 AND ${media} IS NOT NULL
      ORDER BY received_datetime LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    const ofResults = `UPDATE result_revisions SET ${media} = NULL WHERE (svc_eligiblity_id, revision) IN (
      SELECT svc_eligiblity_id, revision FROM result_revisions WHERE account_code = $1 AND ${kept})`;
    // An unmatched result may belong to several accounts, so the shortest retention period of these accounts applies.
    const ofUnmatched = `UPDATE unmatched_results SET ${media} = NULL WHERE id IN (
      SELECT id FROM unmatched_results WHERE account_codes @> ARRAY[$1] AND ${kept})`;
    let total = 0;
    for (const text of [ofResults, ofUnmatched])
      for (let forgotten = BATCH; forgotten === BATCH; total += forgotten)
        forgotten = await this.database.execute({ text }, [accountCode, before]);
    return total;
  }
}
