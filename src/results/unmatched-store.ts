import { Injectable } from '@nestjs/common';
import { v7 as uuid } from 'uuid';
import type { LockedEligibility } from '../eligibility/eligibility.commands.js';
import { currentReach, requestContext } from '../platform/context/request-context.js';
import { acrossAccounts, Database, prepared, type Statement } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { afterCursor, type Page } from '../platform/http/paging.js';
import { EncryptedColumns } from '../platform/database/encrypted-columns.js';
import { Secrets } from '../platform/secrets.js';
import { isUuid } from '../platform/validation/identifiers.js';
import { withoutCredentials, type Delivery, type KeptBody } from './result-body.js';
import type { CandidateResultData, CandidateResultsDetails } from './results.dto.js';
import { accountFacts, registrationFacts, type ResultSource } from './results.rules.js';
import type { UnmatchedResult } from './unmatched-result.entity.js';

const SUMMARY = 'id, position, source, received_datetime, code, username, account_code';

// The same body again is the same result: what changes is why it is refused.
const KEEP = prepared(
  'unmatched-keep',
  `INSERT INTO unmatched_results
     (id, source, account_code, code, username, body, body_hash, photo, video_link, received_datetime,
      credentials, credentials_apart, account_codes, staff_account_codes)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, true, ARRAY(SELECT DISTINCT unnest($12::text[] || named)),
     CASE WHEN cardinality($12::text[]) = 1 THEN $12::text[] || named ELSE named END
   FROM (SELECT ARRAY(
     SELECT account_code FROM eligibilities WHERE svc_eligiblity_id = $13
     UNION SELECT eligibilities.account_code FROM eligibilities JOIN bookings USING (svc_eligiblity_id)
     WHERE bookings.booking_code = $13
     UNION SELECT min(account_code) FROM eligibilities
     WHERE account_code = ANY ($12::text[]) AND client_eligibility_id = $13 AND status <> 'CANCELLED'
     HAVING count(DISTINCT account_code) = 1) AS named) AS exam
   ON CONFLICT (source, account_code, username, body_hash) WHERE accepted_datetime IS NULL
   DO UPDATE SET code = excluded.code
   RETURNING xmax = 0 AS added`,
  acrossAccounts.matching,
);
const LIST = prepared(
  'unmatched-list',
  `SELECT ${SUMMARY} FROM unmatched_results
   WHERE accepted_datetime IS NULL AND rejected_datetime IS NULL AND ${afterCursor('$1')}
     AND ($3::text[] IS NULL OR staff_account_codes && $3)
   ORDER BY position DESC LIMIT $2`,
);
const GET_BODY = prepared(
  'unmatched-get-body',
  'SELECT body, credentials_apart FROM unmatched_results WHERE id = $1',
  acrossAccounts.keyInHand,
);
const ONE = 'SELECT * FROM unmatched_results WHERE id = $1 AND ($2::text[] IS NULL OR staff_account_codes && $2)';
const FIND = prepared('unmatched-find', ONE);
const LOCK = prepared('unmatched-lock', `${ONE} FOR UPDATE`);
// The exam has the photo and the link now; one copy is enough.
const SETTLE = prepared(
  'unmatched-settle',
  `UPDATE unmatched_results
   SET accepted_datetime = $2, svc_eligiblity_id = $3, settled_by = 'OPERATOR', photo = NULL, video_link = NULL,
     credentials = NULL, body = coalesce($4::text, body) WHERE id = $1`,
  acrossAccounts.keyInHand,
);
const REJECT = prepared(
  'unmatched-reject',
  `UPDATE unmatched_results SET rejected_datetime = $2, rejected_by = $3, reject_reason = $4 WHERE id = $1`,
  acrossAccounts.keyInHand,
);
const SETTLE_MATCHED = prepared(
  'unmatched-settle-matched',
  `UPDATE unmatched_results
   SET accepted_datetime = $5, svc_eligiblity_id = $6, settled_by = 'MATCHED', photo = NULL, video_link = NULL,
     credentials = NULL, body = coalesce($7::text, body)
   WHERE source = $1 AND (account_code = $2 OR $1 = 'REGISTRATION' AND account_code IS NULL) AND username = $3
     AND body_hash = $4 AND accepted_datetime IS NULL`,
  acrossAccounts.matching,
);
const SWEEP = prepared(
  'unmatched-sweep',
  `DELETE FROM unmatched_results WHERE id IN (
     SELECT id FROM unmatched_results WHERE received_datetime < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
  acrossAccounts.sweep,
);

export type UnmatchedSummary = Pick<
  UnmatchedResult,
  'id' | 'position' | 'source' | 'received_datetime' | 'code' | 'username' | 'account_code'
>;
export type ReadUnmatched = UnmatchedSummary &
  Pick<
    UnmatchedResult,
    | 'accepted_datetime'
    | 'svc_eligiblity_id'
    | 'settled_by'
    | 'rejected_datetime'
    | 'rejected_by'
    | 'reject_reason'
    | 'account_codes'
  > & { body: KeptBody };

type ExamKey = Pick<LockedEligibility, 'account_code' | 'svc_eligiblity_id'>;

/** Unmatched results in the database. */
@Injectable()
export class UnmatchedStore {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    const of = (purpose: (id: string) => string) => (row: Record<string, unknown>) => purpose(row['id'] as string);
    encrypted.add({
      table: 'unmatched_results',
      key: ['id'],
      columns: { photo: of(photoOf), video_link: of(videoLinkOf), credentials: of(unmatchedCredentialsOf) },
    });
  }

  /** Whether it was not there yet. */
  async keep(
    source: ResultSource,
    accountCode: string | null,
    code: string,
    delivery: Delivery,
    examCode: string | null,
  ): Promise<boolean> {
    const { body } = delivery;
    const id = uuid();
    const kept = await this.database.queryOne<{ added: boolean }>(KEEP, [
      id,
      source,
      accountCode,
      code,
      delivery.username,
      body.text,
      body.hash,
      body.photo && this.secrets.encrypt(body.photo, photoOf(id)),
      body.videoLink && this.secrets.encrypt(body.videoLink, videoLinkOf(id)),
      delivery.receivedAt,
      body.credentials && this.secrets.encrypt(body.credentials, unmatchedCredentialsOf(id)),
      accountCode === null ? sendersAccounts() : [accountCode],
      examCode,
    ]);
    return kept!.added;
  }

  /** Those that wait for an operator, newest first, without their bodies. */
  list(page: Page): Promise<UnmatchedSummary[]> {
    return this.database.query<UnmatchedSummary>(LIST, [page.after, page.take, currentReach()]);
  }

  /** The body without what is kept apart; null when the row has gone meanwhile. */
  async findBody(id: string): Promise<string | null> {
    const row = await this.database.queryOne<{ body: string; credentials_apart: boolean }>(GET_BODY, [id]);
    if (row === null || row.credentials_apart) return row && row.body;
    return withoutCredentials(row.body).text;
  }

  /** Returns the result; null when there is none, and when it is not one that the caller's accounts may see. */
  find(id: string): Promise<ReadUnmatched | null> {
    return this.one(FIND, id);
  }

  /** Finds the result and holds its row in the running unit of work. */
  lock(id: string): Promise<ReadUnmatched | null> {
    return this.one(LOCK, id);
  }

  /** @param left what is kept of the body when the record is erased; null keeps all of it */
  async settle(id: string, svcEligibilityId: string, now: Date, left: KeptBody | null): Promise<void> {
    await this.database.execute(SETTLE, [id, now, svcEligibilityId, left && left.text]);
  }

  /** In the running unit of work. */
  async reject(id: string, by: string, reason: string, now: Date): Promise<void> {
    await this.database.execute(REJECT, [id, now, by, reason]);
  }

  /** The same body from the same user has found its exam: nobody else can have it. In the running unit of work. */
  settleMatched(
    source: ResultSource,
    { account_code, svc_eligiblity_id }: ExamKey,
    delivery: Delivery,
    now: Date,
    left: KeptBody | null,
  ): void {
    const { username, body } = delivery;
    this.unitOfWork.send(SETTLE_MATCHED, [
      source,
      account_code,
      username,
      body.hash,
      now,
      svc_eligiblity_id,
      left && left.text,
    ]);
  }

  /** Takes away at most `most` that came before the moment; returns how many. */
  sweep(before: Date, most: number): Promise<number> {
    return this.database.execute(SWEEP, [before, most]);
  }

  private async one(statement: Statement, id: string): Promise<ReadUnmatched | null> {
    const row = isUuid(id) ? await this.database.queryOne<UnmatchedResult>(statement, [id, currentReach()]) : null;
    if (row === null) return null;
    const { body, body_hash, photo, video_link, credentials, credentials_apart, ...rest } = row;
    const split = credentials_apart ? null : withoutCredentials(body);
    return {
      ...rest,
      body: {
        text: Buffer.from(split?.text ?? body),
        credentials: split
          ? split.credentials
          : credentials && this.secrets.decrypt(credentials, unmatchedCredentialsOf(row.id)),
        hash: body_hash,
        photo: photo && this.secrets.decrypt(photo, photoOf(row.id)),
        videoLink: video_link && this.secrets.decrypt(video_link, videoLinkOf(row.id)),
      },
    };
  }
}

/** The accounts of the user who sent it; none for an operator, who delivers for every account. */
function sendersAccounts(): string[] {
  const { caller } = requestContext();
  return caller === null || caller.isOperator ? [] : [...caller.accountCodes];
}

const photoOf = (id: string) => `unmatched_results.photo ${id}`;
const videoLinkOf = (id: string) => `unmatched_results.video_link ${id}`;
export const unmatchedCredentialsOf = (id: string) => `unmatched_results.credentials ${id}`;

/** What of a kept body decides. */
export function factsOf({ source, body }: ReadUnmatched): {
  locator: string | null;
  resultId: string | null;
  simulated: boolean;
} {
  const value = JSON.parse(body.text.toString('utf8')) as unknown;
  if (source === 'ACCOUNT')
    return { locator: null, simulated: false, resultId: accountFacts(value as CandidateResultData).resultId };
  const { locator, simulated } = registrationFacts(value as CandidateResultsDetails);
  return { locator, simulated, resultId: null };
}
