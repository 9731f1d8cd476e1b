import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/database.js';
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
};
const ERASE = {
  text: `UPDATE result_revisions SET body = $3, photo = NULL, video_link = NULL, credentials = NULL, credentials_apart = true, result_id = $4
         WHERE svc_eligiblity_id = $1 AND revision = $2`,
};
const FIND_LOCATORS = {
  text: 'SELECT svc_eligiblity_id, locator FROM registration_locators WHERE svc_eligiblity_id = ANY ($1::text[])',
};
const ERASE_LOCATOR = {
  text: 'UPDATE registration_locators SET locator = $2, locator_key = $3 WHERE svc_eligiblity_id = $1',
};
const FIND_RESULT_IDS = {
  text: 'SELECT account_code, result_id FROM account_result_ids WHERE svc_eligiblity_id = ANY ($1::text[])',
};
const ERASE_RESULT_ID = {
  text: 'UPDATE account_result_ids SET result_id = $3 WHERE account_code = $1 AND result_id = $2',
};
const READ_UNMATCHED = {
  text: `SELECT id, source, account_code, body, svc_eligiblity_id FROM unmatched_results WHERE id > $1 ORDER BY id LIMIT $2`,
};
const REMOVE_UNMATCHED = { text: 'DELETE FROM unmatched_results WHERE id = ANY ($1::uuid[])' };
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface UnmatchedRow {
  id: string;
  source: ResultSource;
  account_code: string | null;
  body: string;
  svc_eligiblity_id: string | null;
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
    const rows = await this.database.query<{ locator: string }>(FIND_LOCATORS, [subject.svcEligibilityIds]);
    const locators = new Set(rows.map(({ locator }) => locatorKey(locator)));
    const found: string[] = [];
    for (let after = FIRST_ID; ;) {
      const stretch = await this.database.query<UnmatchedRow>(READ_UNMATCHED, [after, STRETCH]);
      if (stretch.length === 0) return found;
      for (const row of stretch) if (isAbout(row, subject, locators)) found.push(row.id);
      after = stretch.at(-1)!.id;
    }
  }
}

function isAbout(row: UnmatchedRow, subject: Subject, locators: ReadonlySet<string>): boolean {
  if (row.svc_eligiblity_id !== null) return subject.svcEligibilityIds.includes(row.svc_eligiblity_id);
  const body = JSON.parse(row.body) as Record<string, unknown>;
  if (row.source === 'ACCOUNT')
    return row.account_code === subject.accountCode && body['candidate_id'] === subject.candidateId;
  const [meta, api] = [body['examMetaData'], body['examApiData']].map((member) => (isObject(member) ? member : {}));
  const codes = [meta['examCode'], api['examCode']];
  if (codes.some((code) => subject.svcEligibilityIds.includes(code as string))) return true;
  if (codes.some((code) => subject.bookingCodes.includes(code as string))) return true;
  const email = body['examTakerEmail'];
  if (typeof email === 'string' && subject.emails.has(email.toLowerCase())) return true;
  const locator = meta['extRecordLocator'];
  return typeof locator === 'string' && locators.has(locatorKey(locator));
}

function erasedId(): string {
  return `ERASED-${randomCode(12)}`;
}
