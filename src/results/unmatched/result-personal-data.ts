import { Injectable } from '@nestjs/common';
import { requestContext } from '../../platform/context/request-context.js';
import { acrossAccounts, Database } from '../../platform/database/database.js';
import { folded, hasFullName, namesPerson } from '../../platform/person.js';
import { ERASED_ID, ERASED, PersonalData, PersonalDataHolders, type Subject } from '../../platform/personal-data.js';
import { isObject } from '../../platform/validation/fields.js';
import { resultText, unmatchedDetailText } from './result-answers.js';
import { erasedBody } from '../body/result-erasure.js';
import { OperatorRevisions } from '../records/operator-revisions.js';
import { ResultStore, type RevisionKey } from '../records/result-store.js';
import { locatorKey, type ResultSource } from '../body/results.rules.js';
import { UnmatchedStore } from './unmatched-store.js';

const STRETCH = 100;

const FIND = {
  text: `SELECT svc_eligiblity_id, revision, source, body, result_id FROM result_revisions
         WHERE svc_eligiblity_id = ANY ($1::text[]) ORDER BY svc_eligiblity_id, revision`,
  across: acrossAccounts.keyInHand,
};
const ERASE = {
  text: `UPDATE result_revisions SET body = $3, photo = NULL, video_link = NULL, credentials = NULL, faults = '[]', result_id = $4
         WHERE svc_eligiblity_id = $1 AND revision = $2`,
  across: acrossAccounts.keyInHand,
};
const FIND_LOCATORS = {
  text: 'SELECT svc_eligiblity_id, locator, locator_key FROM registration_locators WHERE svc_eligiblity_id = ANY ($1::text[])',
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
  text: `SELECT id, source, account_code, account_codes, body, svc_eligiblity_id, reject_reason, accept_reason
         FROM unmatched_results
         WHERE id > $1 ORDER BY id LIMIT $2`,
  across: acrossAccounts.matching,
};
// Finds the e-mail addresses in results that equal one of the candidate's addresses, regardless of case and surrounding
// spaces.
const SAME_EMAILS = {
  text: `SELECT given FROM unnest($1::text[]) AS given
         WHERE case_folded(btrim(given)) IN (SELECT case_folded(known) FROM unnest($2::text[]) AS known)`,
};
const REMOVE_UNMATCHED = {
  text: 'DELETE FROM unmatched_results WHERE id = ANY ($1::uuid[])',
  across: acrossAccounts.keyInHand,
};
const REPLACE_REASONS = {
  text: `UPDATE unmatched_results SET reject_reason = CASE WHEN reject_reason IS NOT NULL THEN '${ERASED}' END,
           accept_reason = CASE WHEN accept_reason IS NOT NULL THEN '${ERASED}' END
         WHERE id = ANY ($1::uuid[])`,
  across: acrossAccounts.keyInHand,
};
const FIND_STATES = {
  text: 'SELECT svc_eligiblity_id, reason FROM result_states WHERE account_code = $1',
};
const REPLACE_STATE_REASONS = {
  text: `UPDATE result_states SET reason = '${ERASED}' WHERE svc_eligiblity_id = ANY ($1::text[])`,
  across: acrossAccounts.keyInHand,
};
/** Selects the candidate ids in results that exactly equal the id of another candidate of the account. */
const OTHERS = {
  text: `SELECT DISTINCT candidate_id FROM eligibilities
         WHERE account_code = $1 AND candidate_id = ANY ($2::text[]) AND candidate_id <> $3`,
};
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

interface UnmatchedRow {
  id: string;
  source: ResultSource;
  account_code: string | null;
  account_codes: string[];
  /** The result's body; null if it is not a JSON object. */
  body: Record<string, unknown> | null;
  svc_eligiblity_id: string | null;
  reject_reason: string | null;
  accept_reason: string | null;
}

/**
 * Three kinds of unmatched results that concern the candidate: results that belong to the candidate, results that only
 * mention the candidate's name, and results for which an operator's reason names the candidate.
 */
interface Tied {
  readonly own: string[];
  readonly byName: string[];
  readonly reasons: string[];
}

/** The values that show, in addition to the candidate's codes, whether an unmatched result belongs to the candidate. */
interface Clues {
  readonly locators: ReadonlySet<string>;
  readonly resultIds: ReadonlySet<unknown>;
  /** The ids in the results that exactly equal the id of a different candidate. */
  readonly others: ReadonlySet<string>;
  /** The candidate's e-mail addresses, as the results spell them. */
  readonly emails: ReadonlySet<unknown>;
}

/** Handles the personal data in a candidate's results, and in unmatched results that name the candidate. */
@Injectable()
export class ResultPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    private readonly results: ResultStore,
    private readonly unmatched: UnmatchedStore,
    private readonly revisions: OperatorRevisions,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export(subject: Subject): Promise<Record<string, unknown>> {
    const results: unknown[] = [];
    const unreleased = requestContext().caller?.scopes.has('results') ?? false;
    for (const key of await this.database.query<RevisionKey>(FIND, [subject.svcEligibilityIds]))
      results.push({
        svc_eligiblity_id: key.svc_eligiblity_id,
        ...(JSON.parse(resultText(await this.results.get(key, { media: true, unreleased }))) as object),
      });
    const unmatched: unknown[] = [];
    for (const id of (await this.findUnmatched(subject)).own) {
      const found = await this.unmatched.find(id);
      if (found === null) continue;
      const isShown = await this.revisions.mayShow(found.svc_eligiblity_id, unreleased);
      unmatched.push(JSON.parse(unmatchedDetailText(isShown ? found : { ...found, body: null })));
    }
    const locators = await this.database.query(FIND_LOCATORS, [subject.svcEligibilityIds]);
    return { results, unmatched_results: unmatched, record_locators: locators };
  }

  async erase(subject: Subject, pseudonym: string): Promise<void> {
    const ids = subject.svcEligibilityIds;
    // Unmatched results are found by locators and result ids. They are therefore erased before the locators and ids.
    const { own, reasons } = await this.findUnmatched(subject);
    await this.database.execute(REMOVE_UNMATCHED, [own]);
    await this.database.execute(REPLACE_REASONS, [reasons]);
    await this.eraseStateReasons(subject);
    for (const { svc_eligiblity_id, locator_key } of await this.locatorsOf(ids)) {
      const erased = this.erasedKey(locator_key);
      await this.database.execute(ERASE_LOCATOR, [svc_eligiblity_id, erased, erased]);
    }
    const resultIds = new Map<string, string>();
    const known = await this.database.query<{ account_code: string; result_id: string }>(FIND_RESULT_IDS, [ids]);
    for (const { account_code, result_id } of known) {
      resultIds.set(result_id, this.erasedKey(result_id));
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
        result_id && (resultIds.get(result_id) ?? this.erasedKey(result_id)),
      ]);
  }

  /**
   * Replaces the reasons that operators gave for decisions on the candidate's results. Also replaces the reasons for
   * other decisions if these reasons name the candidate.
   */
  private async eraseStateReasons({ accountCode, svcEligibilityIds, person }: Subject): Promise<void> {
    const states = await this.database.query<{ svc_eligiblity_id: string; reason: string }>(FIND_STATES, [accountCode]);
    const named = states.filter(({ reason }) => namesPerson(reason, person));
    const ids = [...svcEligibilityIds, ...named.map(({ svc_eligiblity_id }) => svc_eligiblity_id)];
    await this.database.execute(REPLACE_STATE_REASONS, [ids]);
  }

  override async findTiedByName(subject: Subject): Promise<string[]> {
    return (await this.findUnmatched(subject)).byName;
  }

  /**
   * Finds the unmatched results of the candidate. The bodies have no index, so all unmatched results are read, in
   * batches.
   */
  private async findUnmatched(subject: Subject): Promise<Tied> {
    const locators = new Set((await this.locatorsOf(subject.svcEligibilityIds)).map((known) => known.locator_key));
    const known = await this.database.query<{ result_id: string }>(FIND_RESULT_IDS, [subject.svcEligibilityIds]);
    const resultIds = new Set(known.map(({ result_id }) => result_id));
    const found: Tied = { own: [], byName: [], reasons: [] };
    for (let after = FIRST_ID; ;) {
      const stretch = await this.database.query<Omit<UnmatchedRow, 'body'> & { body: string | null }>(READ_UNMATCHED, [
        after,
        STRETCH,
      ]);
      if (stretch.length === 0) return found;
      const rows = stretch.map((row) => ({ ...row, body: JSON.parse(row.body ?? 'null') as UnmatchedRow['body'] }));
      const emails = await this.emailsOf(subject, rows);
      const others = await this.othersOf(subject, rows);
      for (const row of rows) {
        const isOf = (accounts: readonly string[]) => accounts.length === 0 || accounts.includes(subject.accountCode);
        if (isAbout(row, subject, { locators, resultIds, emails, others })) found.own.push(row.id);
        else if (!isOf(row.account_codes)) continue;
        else if (row.svc_eligiblity_id === null && (await this.isLike(row, subject))) found.byName.push(row.id);
        const reasons = [row.reject_reason, row.accept_reason].filter((reason) => reason !== null);
        if (reasons.some((reason) => namesPerson(reason, subject.person))) found.reasons.push(row.id);
      }
      after = stretch.at(-1)!.id;
    }
  }

  /**
   * Returns whether an operator must decide to whom the result belongs. This is the case if the result contains the
   * candidate's name or, if the result is not a JSON object, an id of the candidate.
   */
  private async isLike({ id, body }: UnmatchedRow, { person }: Subject): Promise<boolean> {
    if (body !== null) return hasFullName(textsOf(body), person);
    const text = (await this.unmatched.readRaw(id)).toString('utf8');
    return hasFullName([text], person) || namesPerson(text, { ...person, names: [] });
  }

  private locatorsOf(ids: readonly string[]): Promise<{ svc_eligiblity_id: string; locator_key: string }[]> {
    return this.database.query(FIND_LOCATORS, [ids]);
  }

  private erasedKey(id: string): string {
    return id.startsWith(ERASED_ID) ? id : this.results.erasedKey(id);
  }

  private async othersOf(subject: Subject, rows: readonly UnmatchedRow[]): Promise<ReadonlySet<string>> {
    const named = rows.map(({ body }) => idOf(body?.['candidate_id'])).filter((id) => id !== null);
    const others = await this.database.query<{ candidate_id: string }>(OTHERS, [
      subject.accountCode,
      named,
      subject.candidateId,
    ]);
    return new Set(others.map((other) => other.candidate_id));
  }

  /** Returns the candidate's e-mail addresses, as the results spell them. */
  private async emailsOf({ emails }: Subject, rows: readonly UnmatchedRow[]): Promise<ReadonlySet<string>> {
    const given = rows.map(({ body }) => body?.['examTakerEmail']).filter((email) => typeof email === 'string');
    const same = await this.database.query<{ given: string }>(SAME_EMAILS, [given, emails]);
    return new Set(same.map((row) => row.given));
  }
}

function isAbout(row: UnmatchedRow, subject: Subject, clues: Clues): boolean {
  const { source, account_code, account_codes, body, svc_eligiblity_id } = row;
  if (svc_eligiblity_id !== null) return subject.svcEligibilityIds.includes(svc_eligiblity_id);
  if (body === null) return false;
  const isSame = (id: string | null, ids: readonly string[]) =>
    id !== null && ids.some((own) => own === id || (folded(id) !== '' && folded(own) === folded(id)));
  if (source === 'ACCOUNT') {
    if (account_code !== subject.accountCode) return false;
    const id = idOf(body['candidate_id']);
    return (
      (!clues.others.has(id ?? '') && isSame(id, [subject.candidateId])) || clues.resultIds.has(idOf(body['result_id']))
    );
  }
  const [meta, api] = [body['examMetaData'], body['examApiData']].map((member) => (isObject(member) ? member : {}));
  const codes = [meta['examCode'], api['examCode']].map(idOf);
  const names = (ids: readonly string[]) => codes.some((code) => isSame(code, ids));
  if (names(subject.svcEligibilityIds) || names(subject.bookingCodes)) return true;
  // The following ids are unique only within an account, so they prove nothing in a result of a different account.
  if (account_codes.length > 0 && !account_codes.includes(subject.accountCode)) return false;
  if (names(subject.clientEligibilityIds) || clues.emails.has(body['examTakerEmail'])) return true;
  const locator = idOf(meta['extRecordLocator']);
  return locator !== null && clues.locators.has(locatorKey(locator));
}

/** Returns an id as a string, even if the id was sent as a number; null for any other value. */
function idOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** Returns all strings in a result's body, at any depth. */
function textsOf(value: unknown, texts: string[] = []): string[] {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) textsOf(member, texts);
  return texts;
}
