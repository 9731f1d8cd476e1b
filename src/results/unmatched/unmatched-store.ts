import { Injectable } from '@nestjs/common';
import { v7 as uuid } from 'uuid';
import type { LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { currentAllowedAccounts, requestContext } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, prepared, type Statement } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { afterCursor, type Page } from '../../platform/http/paging.js';
import { EncryptedColumns } from '../../platform/database/encrypted-columns.js';
import { Secrets } from '../../platform/secrets.js';
import { isUuid } from '../../platform/validation/identifiers.js';
import { hashOfRaw, type KeptBody } from '../body/result-body.js';
import type { KeptFault } from '../body/result-judgement.js';
import { locatorKey, type NamedExam, type ResultSource } from '../body/results.rules.js';
import type { UnmatchedResult } from './unmatched-result.entity.js';

const SUMMARY = 'id, position, source, received_datetime, code, faults, username, account_code';

// Stores the body of a refused result. If the same body was already stored, updates the row's refusal code and
// accounts, and keeps the row for another 30 days.
const KEEP = prepared(
  'unmatched-keep',
  `INSERT INTO unmatched_results
     (id, source, account_code, code, username, body, body_hash, photo, video_link, received_datetime,
      credentials, raw, faults, account_codes, staff_account_codes)
   SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $14::bytea, $15::json, ARRAY(SELECT DISTINCT unnest($12::text[] || named)),
     CASE WHEN cardinality($12::text[]) = 1 THEN $12::text[] || named ELSE named END
   FROM (SELECT ARRAY(
     SELECT account_code FROM eligibilities WHERE svc_eligiblity_id = $13
     UNION SELECT eligibilities.account_code FROM eligibilities JOIN bookings USING (svc_eligiblity_id)
     WHERE bookings.booking_code = $13
     UNION SELECT min(account_code) FROM eligibilities
     WHERE account_code = ANY ($12::text[]) AND client_eligibility_id = $13 AND status <> 'CANCELLED'
     HAVING count(DISTINCT account_code) = 1
     UNION SELECT min(account_code) FROM registration_locators
     WHERE account_code = ANY ($12::text[]) AND locator_key = $16 HAVING count(DISTINCT account_code) = 1) AS named) AS exam
   ON CONFLICT (source, account_code, username, body_hash) WHERE accepted_datetime IS NULL
   DO UPDATE SET code = excluded.code, faults = excluded.faults, repeated_datetime = excluded.received_datetime,
     account_codes = excluded.account_codes, staff_account_codes = excluded.staff_account_codes
   RETURNING id, xmax = 0 AS added`,
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
  'SELECT body FROM unmatched_results WHERE id = $1',
  acrossAccounts.keyInHand,
);
const GET_RAW = prepared(
  'unmatched-get-raw',
  'SELECT raw FROM unmatched_results WHERE id = $1',
  acrossAccounts.keyInHand,
);
const ONE = 'SELECT * FROM unmatched_results WHERE id = $1 AND ($2::text[] IS NULL OR staff_account_codes && $2)';
const FIND = prepared('unmatched-find', ONE);
const LOCK = prepared('unmatched-lock', `${ONE} FOR UPDATE`);
// Marks a result as accepted. Its photo, video link and credentials are deleted, because the exam's revision has them.
const SETTLE = prepared(
  'unmatched-settle',
  `UPDATE unmatched_results
   SET accepted_datetime = $2, svc_eligiblity_id = $3, settled_by = 'OPERATOR', photo = NULL, video_link = NULL,
     credentials = NULL, accept_reason = $5, body = coalesce($4::text, body),
     faults = CASE WHEN $4::text IS NULL THEN faults ELSE '[]' END WHERE id = $1`,
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
     credentials = NULL, body = coalesce($7::text, body),
     faults = CASE WHEN $7::text IS NULL THEN faults ELSE '[]' END
   WHERE source = $1 AND (account_code = $2 OR $1 = 'REGISTRATION' AND account_code IS NULL) AND username = $3
     AND body_hash = $4 AND accepted_datetime IS NULL`,
  acrossAccounts.matching,
);
const SWEEP = prepared(
  'unmatched-sweep',
  `DELETE FROM unmatched_results WHERE id IN (
     SELECT id FROM unmatched_results
     WHERE received_datetime < $1 AND (repeated_datetime IS NULL OR repeated_datetime < $1)
     LIMIT $2 FOR UPDATE SKIP LOCKED)`,
  acrossAccounts.sweep,
);

export type UnmatchedSummary = Pick<
  UnmatchedResult,
  'id' | 'position' | 'source' | 'received_datetime' | 'code' | 'faults' | 'username' | 'account_code'
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
    | 'accept_reason'
  > & {
    /** The parts of the body; null for a body that is not a JSON object. */
    body: KeptBody | null;
  };

/** The body of a refused result, in parts or as raw bytes. */
export type NewUnmatched = {
  readonly source: ResultSource;
  readonly accountCode: string | null;
  readonly faults: readonly KeptFault[];
  readonly username: string;
  readonly receivedAt: Date;
  readonly hash: Buffer;
  /** The members of the body that name its exam; null if the body cannot have them. */
  readonly exam: NamedExam | null;
} & ({ readonly body: KeptBody; readonly raw: null } | { readonly body: null; readonly raw: Buffer });

type ExamKey = Pick<LockedEligibility, 'account_code' | 'svc_eligiblity_id'>;

/** Stores results that could not be matched with an exam. */
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
      columns: { photo: of(photoOf), video_link: of(videoLinkOf), credentials: of(credentialsOf), raw: of(rawOf) },
    });
  }

  /** Stores a refused body. Returns the id of the unmatched result, and whether it is new. */
  async keep(code: string, result: NewUnmatched): Promise<{ id: string; added: boolean }> {
    const { source, accountCode, username, body, raw, receivedAt, exam } = result;
    const id = uuid();
    const seal = (plain: Buffer | null | undefined, purpose: string) => plain && this.secrets.encrypt(plain, purpose);
    const kept = await this.database.queryOne<{ id: string; added: boolean }>(KEEP, [
      id,
      source,
      accountCode,
      code,
      username,
      body?.text,
      result.hash,
      seal(body?.photo, photoOf(id)),
      seal(body?.videoLink, videoLinkOf(id)),
      receivedAt,
      seal(body?.credentials, credentialsOf(id)),
      accountCode === null ? sendersAccounts() : [accountCode],
      exam?.examCode,
      seal(raw, rawOf(id)),
      JSON.stringify(result.faults),
      exam?.locator == null ? null : locatorKey(exam.locator),
    ]);
    return kept!;
  }

  /** Returns the hash of a body that is not a JSON object. */
  hashOfRaw(bytes: Buffer): Buffer {
    return hashOfRaw(bytes);
  }

  /** Returns a page of the unmatched results that wait for an operator, newest first, without the bodies. */
  list(page: Page): Promise<UnmatchedSummary[]> {
    return this.database.query<UnmatchedSummary>(LIST, [page.after, page.take, currentAllowedAccounts()]);
  }

  /**
   * Returns the stored text of a body as `body`, which is null if the body is not a JSON object. Returns null if the
   * row was deleted in the meantime.
   */
  findBody(id: string): Promise<{ body: string | null } | null> {
    return this.database.queryOne<{ body: string | null }>(GET_BODY, [id]);
  }

  /**
   * Returns the bytes of a body that is not a JSON object; `bytes` is null for any other body. Returns null when {@link
   * find} returns null.
   */
  async findRaw(id: string): Promise<{ accountCode: string | null; bytes: Buffer | null } | null> {
    const row = isUuid(id) ? await this.database.queryOne<UnmatchedResult>(FIND, [id, currentAllowedAccounts()]) : null;
    return row && { accountCode: row.account_code, bytes: row.raw && this.secrets.decrypt(row.raw, rawOf(row.id)) };
  }

  /**
   * Returns the bytes of a body that is not a JSON object, without checking the caller's accounts. Returns an empty
   * buffer if the row was deleted in the meantime.
   */
  async readRaw(id: string): Promise<Buffer> {
    const row = await this.database.queryOne<{ raw: Buffer | null }>(GET_RAW, [id]);
    return row?.raw ? this.secrets.decrypt(row.raw, rawOf(id)) : Buffer.alloc(0);
  }

  /** Returns the unmatched result; null if it does not exist, or is outside the accounts of the caller. */
  find(id: string): Promise<ReadUnmatched | null> {
    return this.one(FIND, id);
  }

  /** Returns the unmatched result, and locks its row in the current unit of work. */
  lock(id: string): Promise<ReadUnmatched | null> {
    return this.one(LOCK, id);
  }

  /**
   * Settles an unmatched result that was accepted for an exam.
   * @param left the part of the body to keep, if the candidate's personal data was erased; null to keep the whole body
   */
  async settle(
    id: string,
    { svc_eligiblity_id }: ExamKey,
    now: Date,
    left: KeptBody | null,
    reason: string | null,
  ): Promise<void> {
    await this.database.execute(SETTLE, [id, now, svc_eligiblity_id, left && left.text, reason]);
  }

  /** Rejects the unmatched result in the current unit of work. */
  async reject(id: string, by: string, reason: string, now: Date): Promise<void> {
    await this.database.execute(REJECT, [id, now, by, reason]);
  }

  /**
   * Marks unmatched results with the same body from the same user as settled, after the body was matched with an exam.
   * The statement runs in the current unit of work.
   */
  settleMatched(
    source: ResultSource,
    { account_code, svc_eligiblity_id }: ExamKey,
    { username, hash }: { username: string; hash: Buffer },
    now: Date,
    left: KeptBody | null,
  ): void {
    const sent = [source, account_code, username, hash];
    this.unitOfWork.send(SETTLE_MATCHED, [...sent, now, svc_eligiblity_id, left && left.text]);
  }

  /**
   * Deletes unmatched results that were last delivered before the given time. Returns the number of deleted results.
   * @param most the maximum number of results
   */
  sweep(before: Date, most: number): Promise<number> {
    return this.database.execute(SWEEP, [before, most]);
  }

  private async one(statement: Statement, id: string): Promise<ReadUnmatched | null> {
    const row = isUuid(id)
      ? await this.database.queryOne<UnmatchedResult>(statement, [id, currentAllowedAccounts()])
      : null;
    if (row === null) return null;
    const { body, raw: _, body_hash, photo, video_link, credentials, ...rest } = row;
    if (body === null) return { ...rest, body: null };
    return {
      ...rest,
      body: {
        text: Buffer.from(body),
        hash: body_hash,
        credentials: credentials && this.secrets.decrypt(credentials, credentialsOf(row.id)),
        photo: photo && this.secrets.decrypt(photo, photoOf(row.id)),
        videoLink: video_link && this.secrets.decrypt(video_link, videoLinkOf(row.id)),
      },
    };
  }
}

/** Returns the accounts of the sending user. The list is empty for an operator, who may deliver for every account. */
function sendersAccounts(): string[] {
  const { caller } = requestContext();
  return caller === null || caller.isOperator ? [] : [...caller.accountCodes];
}

const photoOf = (id: string) => `unmatched_results.photo ${id}`;
const videoLinkOf = (id: string) => `unmatched_results.video_link ${id}`;
const rawOf = (id: string) => `unmatched_results.raw ${id}`;
const credentialsOf = (id: string) => `unmatched_results.credentials ${id}`;
