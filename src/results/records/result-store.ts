import { Injectable } from '@nestjs/common';
import type { LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { LIVE, statusAt, type EligibilityState } from '../../eligibility/eligibility.fields.js';
import type { AllowedAccounts } from '../../platform/context/caller.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { EncryptedColumns } from '../../platform/database/encrypted-columns.js';
import { Secrets } from '../../platform/secrets.js';
import type { KeptBody } from '../body/result-body.js';
import type { Newest } from './same-bodies.js';
import type { ResultState } from './result-state.entity.js';
import type { ResultRevision } from './result-revision.entity.js';
import {
  locatorKey,
  type CandidateExam,
  type FoundRegistration,
  type RegistrationFacts,
} from '../body/results.rules.js';

const STATE = 'status, hold_reason, approval_pending, decline_reason, schedule_start_date, eligibility_end_date';
/**
 * The SQL condition for the accounts of the caller. The accounts are passed as an array, so that PostgreSQL can use
 * indexes.
 */
const MINE = 'ANY ($1::text[])';

const FIND_REGISTRATIONS = prepared(
  'results-find-registrations',
  `WITH found (by, svc_eligiblity_id) AS (
     SELECT 'svc_eligiblity_id', svc_eligiblity_id FROM eligibilities WHERE svc_eligiblity_id = $2
     UNION ALL
     SELECT 'booking_code', svc_eligiblity_id FROM bookings WHERE booking_code = $2 AND status <> 'CANCELLED'
     UNION ALL
     SELECT 'client_eligibility_id', svc_eligiblity_id FROM eligibilities
     WHERE account_code = ${MINE} AND client_eligibility_id = $2 AND status <> 'CANCELLED'
     UNION ALL
     SELECT 'locator', svc_eligiblity_id FROM registration_locators WHERE account_code = ${MINE} AND locator_key = ANY ($3::text[])
     UNION ALL
     SELECT 'test_and_email', svc_eligiblity_id FROM eligibilities
     WHERE account_code = ${MINE} AND test_code = $2 AND case_folded(email) = case_folded($4)
       AND ${LIVE} AND email IS NOT NULL)
   SELECT by, svc_eligiblity_id, locator_key, ${STATE}
   FROM found JOIN eligibilities USING (svc_eligiblity_id)
   LEFT JOIN registration_locators USING (svc_eligiblity_id)
   WHERE eligibilities.account_code = ${MINE}`,
  acrossAccounts.boundAround,
);
const EXAM_OF_BOOKING = prepared(
  'results-exam-of-booking',
  `SELECT svc_eligiblity_id, status = 'CANCELLED' AS is_cancelled FROM bookings
   WHERE booking_code = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2))`,
);
const FIND_EXAMS = prepared(
  'results-find-exams',
  `SELECT svc_eligiblity_id, ${STATE},
     coalesce(booking_on, (SELECT max(booking_on) FROM bookings
                           WHERE svc_eligiblity_id = exam.svc_eligiblity_id AND status = 'COMPLETED')) AS booking_on,
     EXISTS (SELECT FROM result_revisions
             WHERE svc_eligiblity_id = exam.svc_eligiblity_id AND source = 'ACCOUNT') AS has_account_result
   FROM eligibilities exam WHERE account_code = $1 AND candidate_id = $2`,
);
const FIND_RESULT_ID = prepared(
  'results-find-result-id',
  `SELECT svc_eligiblity_id, candidate_id, erased_datetime IS NOT NULL AS erased
   FROM account_result_ids known JOIN eligibilities USING (svc_eligiblity_id)
   WHERE known.account_code = $1 AND result_id = ANY ($2::text[])`,
);
const ADD = prepared(
  'results-add',
  `INSERT INTO result_revisions (svc_eligiblity_id, revision, account_code, source, body, body_hash, photo, video_link,
     credentials, result_id, simulated, username, received_datetime, faults)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
);
const ADD_LOCATOR = prepared(
  'results-add-locator',
  `INSERT INTO registration_locators (svc_eligiblity_id, account_code, locator, locator_key)
   VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
);
const HAS_LOCATOR = prepared(
  'results-has-locator',
  'SELECT 1 FROM registration_locators WHERE svc_eligiblity_id = $1 AND locator_key = ANY ($2::text[])',
  acrossAccounts.keyInHand,
);
const ADD_RESULT_ID = prepared(
  'results-add-result-id',
  `INSERT INTO account_result_ids (svc_eligiblity_id, account_code, result_id) VALUES ($1, $2, $3)
   ON CONFLICT DO NOTHING`,
);
const HAS_RESULT_ID = prepared(
  'results-has-result-id',
  'SELECT 1 FROM account_result_ids WHERE account_code = $2 AND result_id = ANY ($3::text[]) AND svc_eligiblity_id = $1',
);
const LIST = prepared(
  'results-list',
  `SELECT svc_eligiblity_id, revision, photo IS NOT NULL AS has_photo, video_link IS NOT NULL AS has_video_link
   FROM result_revisions JOIN eligibilities USING (svc_eligiblity_id)
   WHERE eligibilities.account_code = $1 AND candidate_id = $2 AND test_code = $3
   ORDER BY result_revisions.position DESC`,
);
/**
 * The SQL condition that the caller may see the body. For a result that is not RELEASED, the caller needs the `results`
 * scope.
 */
const SHOWN = `($4 OR coalesce(state, 'RELEASED') = 'RELEASED')`;
const GET = prepared(
  'results-get',
  `SELECT svc_eligiblity_id, revision, source, received_datetime, faults,
     coalesce(state, 'RELEASED') AS state, reason AS state_reason,
     CASE WHEN ${SHOWN} THEN body END AS body, CASE WHEN $3 AND ${SHOWN} THEN photo END AS photo,
     CASE WHEN $3 AND ${SHOWN} THEN video_link END AS video_link,
     CASE WHEN $3 AND ${SHOWN} THEN credentials END AS credentials
   FROM result_revisions LEFT JOIN result_states USING (svc_eligiblity_id)
   WHERE svc_eligiblity_id = $1 AND revision = $2`,
  acrossAccounts.keyInHand,
);

export type RevisionKey = Pick<ResultRevision, 'svc_eligiblity_id' | 'revision'>;
export type ListedRevision = RevisionKey & { has_photo: boolean; has_video_link: boolean };
export type NewRevision = Omit<
  ResultRevision,
  'position' | 'revision' | 'body' | 'body_hash' | 'photo' | 'video_link' | 'credentials'
> & {
  body: KeptBody;
};
/** A revision with the state of its exam's result. The body is null if the caller may not see it in this state. */
export type ReadRevision = Pick<ResultRevision, 'revision' | 'source' | 'received_datetime' | 'faults'> &
  Pick<KeptBody, 'photo' | 'videoLink' | 'credentials'> & {
    state: ResultState;
    state_reason: string | null;
    body: string | null;
  };
type RevisionRow = Omit<ReadRevision, 'photo' | 'videoLink' | 'credentials'> &
  Pick<ResultRevision, 'photo' | 'video_link' | 'credentials'>;
/**
 * Whether a caller may see the photos and video links of revisions, and the bodies of results that are not RELEASED.
 */
export interface Sight {
  readonly media: boolean;
  readonly unreleased: boolean;
}

/** Stores results. Only this class decrypts photos and video links. */
@Injectable()
export class ResultStore {
  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
    encrypted: EncryptedColumns,
  ) {
    const of = (purpose: (id: string, revision: number) => string) => (row: Record<string, unknown>) =>
      purpose(row['svc_eligiblity_id'] as string, row['revision'] as number);
    encrypted.add({
      table: 'result_revisions',
      key: ['svc_eligiblity_id', 'revision'],
      columns: { photo: of(photoOf), video_link: of(videoLinkOf), credentials: of(credentialsOf) },
    });
  }

  /** Returns all registrations in the given accounts to which a member of the result points. */
  async findRegistrations(
    { examCode, locator, email }: RegistrationFacts,
    accountCodes: string[],
    now: Date,
  ): Promise<FoundRegistration[]> {
    const key = locator === null ? null : locatorKey(locator);
    const erased = key && this.erasedKey(key);
    const rows = await this.database.query<FoundRegistration & EligibilityState>(FIND_REGISTRATIONS, [
      accountCodes,
      examCode,
      key && [key, erased],
      email,
    ]);
    const keyOf = (row: FoundRegistration) => (row.locator_key === erased ? key : row.locator_key);
    return rows.map((row) => ({ ...row, locator_key: keyOf(row), status: statusAt(row, now) }));
  }

  findExamOfBooking(
    bookingCode: string,
    allowedAccounts: AllowedAccounts,
  ): Promise<{ svc_eligiblity_id: string; is_cancelled: boolean } | null> {
    return this.database.queryOne(EXAM_OF_BOOKING, [bookingCode, allowedAccounts]);
  }

  async findCandidateExams(accountCode: string, candidateId: string, now: Date): Promise<CandidateExam[]> {
    const rows = await this.database.query<CandidateExam & EligibilityState>(FIND_EXAMS, [accountCode, candidateId]);
    return rows.map((row) => ({ ...row, status: statusAt(row, now) }));
  }

  findResultId(
    accountCode: string,
    resultId: string,
  ): Promise<{ svc_eligiblity_id: string; candidate_id: string; erased: boolean } | null> {
    return this.database.queryOne(FIND_RESULT_ID, [accountCode, [resultId, this.erasedKey(resultId)]]);
  }

  /** Adds a revision to a locked exam; returns the number of the revision. */
  async add(newest: Newest, revision: NewRevision): Promise<number> {
    const { svc_eligiblity_id: id, body } = revision;
    const number = newest.revision + 1;
    await this.database.execute(ADD, [
      id,
      number,
      revision.account_code,
      revision.source,
      body.text,
      body.hash,
      this.seal(body.photo, photoOf(id, number)),
      this.seal(body.videoLink, videoLinkOf(id, number)),
      this.seal(body.credentials, credentialsOf(id, number)),
      revision.result_id,
      revision.simulated,
      revision.username,
      revision.received_datetime,
      JSON.stringify(revision.faults),
    ]);
    return number;
  }

  /**
   * Assigns a locator to the exam. Returns false if the exam already has a different locator, or if the locator belongs
   * to a different exam of the account.
   */
  async addLocator(exam: LockedEligibility, locator: string): Promise<boolean> {
    const { svc_eligiblity_id: id, account_code, erased_datetime } = exam;
    const key = locatorKey(locator);
    const erased = this.erasedKey(key);
    const added = erased_datetime === null ? [locator, key] : [erased, erased];
    if ((await this.database.execute(ADD_LOCATOR, [id, account_code, ...added])) === 1) return true;
    return (await this.database.queryOne(HAS_LOCATOR, [id, [key, erased]])) !== null;
  }

  /** Assigns a result id to the exam. Returns false if the id belongs to a different exam of the account. */
  async addResultId(exam: LockedEligibility, resultId: string): Promise<boolean> {
    const { svc_eligiblity_id: id, account_code, erased_datetime } = exam;
    const erased = this.erasedKey(resultId);
    const values = [id, account_code, erased_datetime === null ? resultId : erased];
    if ((await this.database.execute(ADD_RESULT_ID, values)) === 1) return true;
    return (await this.database.queryOne(HAS_RESULT_ID, [id, account_code, [resultId, erased]])) !== null;
  }

  /**
   * Returns the text that replaces a test driver's id (a locator or a result id) when a candidate is erased. The text
   * is computed from the id, so that a later result with this id is still matched with its exam.
   */
  erasedKey(id: string): string {
    return `ERASED-${this.secrets.keyedHash('an erased id of a result', id).toString('base64url')}`;
  }

  /** Returns the revisions of a candidate's results for a test, newest first. */
  list(accountCode: string, candidateId: string, testCode: string): Promise<ListedRevision[]> {
    return this.database.query<ListedRevision>(LIST, [accountCode, candidateId, testCode]);
  }

  /** Returns a revision with the parts that the caller may see; all other parts are null. */
  async get({ svc_eligiblity_id: id, revision }: RevisionKey, { media, unreleased }: Sight): Promise<ReadRevision> {
    const row = await this.database.queryOne<RevisionRow>(GET, [id, revision, media, unreleased]);
    const { photo, video_link, credentials, ...rest } = row!;
    return {
      ...rest,
      credentials: credentials && this.secrets.decrypt(credentials, credentialsOf(id, revision)),
      photo: photo && this.secrets.decrypt(photo, photoOf(id, revision)),
      videoLink: video_link && this.secrets.decrypt(video_link, videoLinkOf(id, revision)),
    };
  }

  private seal(plain: Buffer | null, purpose: string): Buffer | null {
    return plain && this.secrets.encrypt(plain, purpose);
  }
}

const photoOf = (id: string, revision: number) => `result_revisions.photo ${id} ${revision}`;
const videoLinkOf = (id: string, revision: number) => `result_revisions.video_link ${id} ${revision}`;
const credentialsOf = (id: string, revision: number) => `result_revisions.credentials ${id} ${revision}`;
