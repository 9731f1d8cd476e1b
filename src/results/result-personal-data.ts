import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { PersonalData, PersonalDataHolders, type Subject } from '../platform/personal-data.js';
import { randomCode } from '../platform/secrets.js';
import { isObject } from '../platform/validation/fields.js';
import { resultText, unmatchedDetailText } from './result-answers.js';
import { erasedBody } from './result-erasure.js';
import { ResultStore, type RevisionKey } from './result-store.js';
import { locatorKey, type ResultSource } from './results.rules.js';
import { UnmatchedStore } from './unmatched-store.js';

const STRETCH = 100;

const FIND = {
  text: `SELECT svc_eligiblity_id, revision, source, body, result_id FROM result_revisions
         WHERE svc_eligiblity_id = ANY ($1::text[]) ORDER BY svc_eligiblity_id, revision`,
  across: acrossAccounts.keyInHand,
};
const ERASE = {
  text: `UPDATE result_revisions SET body = $3, photo = NULL, video_link = NULL, credentials = NULL, credentials_apart = true, result_id = $4
         WHERE svc_eligiblity_id = $1 AND revision = $2`,
  across: acrossAccounts.keyInHand,
};
const FIND_LOCATORS = {
  text: 'SELECT svc_eligiblity_id, locator FROM registration_locators WHERE svc_eligiblity_id = ANY ($1::text[])',
  across: acrossAccounts.keyInHand,
};
const ERASE_LOCATOR = {
  text: 'UPDATE registration_locators SET locator = $2, locator_key = $3 WHERE svc_eligiblity_id = $1',
  across: acrossAccounts.keyInHand,
};
const FIND_RESULT_IDS = {
  text: 'SELECT account_code, result_id FROM account_result_ids WHERE svc_eligiblity_id = ANY ($1::text[])',
  across: acrossAccounts.keyInHand,
};
const ERASE_RESULT_ID = {
  text: 'UPDATE account_result_ids SET result_id = $3 WHERE account_code = $1 AND result_id = $2',
};
const READ_UNMATCHED = {
  text: `SELECT id, source, account_code, account_codes, body, svc_eligiblity_id FROM unmatched_results
         WHERE id > $1 ORDER BY id LIMIT $2`,
  across: acrossAccounts.matching,
};
// As the matching compares them.
const SAME_EMAILS = {
  text: `SELECT given FROM unnest($1::text[]) AS given
         WHERE case_folded(given) IN (SELECT case_folded(known) FROM unnest($2::text[]) AS known)`,
};
const REMOVE_UNMATCHED = {
  text: 'DELETE FROM unmatched_results WHERE id = ANY ($1::uuid[])',
  across: acrossAccounts.keyInHand,
};
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface UnmatchedRow {
  id: string;
  source: ResultSource;
  account_code: string | null;
  account_codes: string[];
  body: Record<string, unknown>;
  svc_eligiblity_id: string | null;
}

/** What a registration result may name of the subject, beside their codes. */
interface Clues {
  readonly locators: ReadonlySet<string>;
  /** As results have them. */
  readonly emails: ReadonlySet<unknown>;
}

/** Results of a candidate, and those that no exam was found for but that name them. */
@Injectable()
export class ResultPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    private readonly results: ResultStore,
    private readonly unmatched: UnmatchedStore,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export(subject: Subject): Promise<Record<string, unknown>> {
    const results: unknown[] = [];
    for (const key of await this.database.query<RevisionKey>(FIND, [subject.svcEligibilityIds]))
      results.push({
        svc_eligiblity_id: key.svc_eligiblity_id,
        ...(JSON.parse(resultText(await this.results.get(key, true))) as object),
      });
    const unmatched: unknown[] = [];
    for (const id of await this.findUnmatched(subject)) {
      const found = await this.unmatched.find(id);
      if (found) unmatched.push(JSON.parse(unmatchedDetailText(found)));
    }
    const locators = await this.database.query(FIND_LOCATORS, [subject.svcEligibilityIds]);
    return { results, unmatched_results: unmatched, record_locators: locators };
  }

  async erase(subject: Subject, pseudonym: string): Promise<void> {
    const ids = subject.svcEligibilityIds;
    // While locators and ids of results still lead to them.
    await this.database.execute(REMOVE_UNMATCHED, [await this.findUnmatched(subject)]);
    for (const { svc_eligiblity_id } of await this.database.query<{ svc_eligiblity_id: string }>(FIND_LOCATORS, [
      ids,
    ])) {
      const locator = erasedId();
      await this.database.execute(ERASE_LOCATOR, [svc_eligiblity_id, locator, locatorKey(locator)]);
    }
    const resultIds = new Map<string, string>();
    const known = await this.database.query<{ account_code: string; result_id: string }>(FIND_RESULT_IDS, [ids]);
    for (const { account_code, result_id } of known) {
      resultIds.set(result_id, erasedId());
      await this.database.execute(ERASE_RESULT_ID, [account_code, result_id, resultIds.get(result_id)]);
    }
    const revisions = await this.database.query<
      RevisionKey & { source: ResultSource; body: string; result_id: string | null }
    >(FIND, [ids]);
    for (const { svc_eligiblity_id, revision, source, body, result_id } of revisions)
      await this.database.execute(ERASE, [
        svc_eligiblity_id,
        revision,
        erasedBody(source, body, pseudonym),
        result_id && (resultIds.get(result_id) ?? erasedId()),
      ]);
  }

  /** Nothing in a body is indexed: all are read, a stretch at a time; there are thirty days of them. */
  private async findUnmatched(subject: Subject): Promise<string[]> {
    const known = await this.database.query<{ locator: string }>(FIND_LOCATORS, [subject.svcEligibilityIds]);
    const locators = new Set(known.map(({ locator }) => locatorKey(locator)));
    const found: string[] = [];
    for (let after = FIRST_ID; ;) {
      const stretch = await this.database.query<Omit<UnmatchedRow, 'body'> & { body: string }>(READ_UNMATCHED, [
        after,
        STRETCH,
      ]);
      if (stretch.length === 0) return found;
      const rows = stretch.map((row) => ({ ...row, body: JSON.parse(row.body) as Record<string, unknown> }));
      const emails = await this.emailsOf(subject, rows);
      for (const row of rows) if (isAbout(row, subject, { locators, emails })) found.push(row.id);
      after = stretch.at(-1)!.id;
    }
  }

  /** Of the addresses that the results name, those of the subject. */
  private async emailsOf({ emails }: Subject, rows: readonly UnmatchedRow[]): Promise<ReadonlySet<string>> {
    const given = rows.map(({ body }) => body['examTakerEmail']).filter((email) => typeof email === 'string');
    const same = await this.database.query<{ given: string }>(SAME_EMAILS, [given, emails]);
    return new Set(same.map((row) => row.given));
  }
}

function isAbout(row: UnmatchedRow, subject: Subject, { locators, emails }: Clues): boolean {
  const { source, account_code, account_codes, body, svc_eligiblity_id } = row;
  if (svc_eligiblity_id !== null) return subject.svcEligibilityIds.includes(svc_eligiblity_id);
  if (source === 'ACCOUNT') return account_code === subject.accountCode && body['candidate_id'] === subject.candidateId;
  const [meta, api] = [body['examMetaData'], body['examApiData']].map((member) => (isObject(member) ? member : {}));
  const codes = [meta['examCode'], api['examCode']];
  const names = (ids: readonly string[]) => codes.some((code) => ids.includes(code as string));
  if (names(subject.svcEligibilityIds) || names(subject.bookingCodes)) return true;
  // What is not unique outside of an account says nothing of a result that is another account's.
  if (account_codes.length > 0 && !account_codes.includes(subject.accountCode)) return false;
  if (names(subject.clientEligibilityIds) || emails.has(body['examTakerEmail'])) return true;
  const locator = meta['extRecordLocator'];
  return typeof locator === 'string' && locators.has(locatorKey(locator));
}

function erasedId(): string {
  return `ERASED-${randomCode(12)}`;
}
