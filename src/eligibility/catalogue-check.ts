import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { RetakePolicy } from '../accounts/accounts.commands.js';
import { Database, prepared } from '../platform/database/database.js';
import { Batched, numbered } from '../platform/database/batched.js';
import type { Fault } from '../platform/errors.js';
import type { Faults } from '../platform/validation/faults.js';
import { refusalFaults } from '../vouchers/vouchers.commands.js';
import { FindVoucherRefusals } from '../vouchers/vouchers.queries.js';
import type { EligibilityModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';
import { chosenPortions, isSameSet, isUspsCode } from './eligibility.rules.js';

// Looks up the codes of many requests at once. Scalar subqueries are used instead of EXISTS, because PostgreSQL may
// read a whole table for EXISTS if there are many rows.
const LOOK_UP = prepared(
  'eligibility-catalogue',
  `SELECT asked.n,
     (SELECT coalesce(t.retake, '{}') FROM tests t WHERE t.account_code = asked.account AND t.test_code = asked.test) AS retake,
     ARRAY(SELECT p.portion_code FROM test_portions p
           WHERE p.account_code = asked.account AND p.test_code = asked.test ORDER BY p.ordinal) AS portions,
     (SELECT true FROM schools s WHERE s.account_code = asked.account AND s.school_code = asked.school) IS NOT NULL AS school_known,
     ARRAY(SELECT a.accommodation_code FROM accommodations a
           WHERE a.account_code = asked.account AND a.accommodation_code = ANY (asked.accommodations)) AS accommodations,
     coalesce((SELECT bool_or(a.requires_approval) FROM accommodations a
           WHERE a.account_code = asked.account AND a.accommodation_code = ANY (asked.accommodations)), false) AS approval_pending,
     ARRAY(SELECT k.attribute_key FROM attribute_keys k
           WHERE k.account_code = asked.account AND k.attribute_key = ANY (asked.attributes)) AS attribute_keys
   FROM json_to_recordset($1) AS asked
     (n int, account text, test text, school text, accommodations text[], attributes text[])`,
);

const NEAR_TEST = prepared(
  'eligibility-near-test',
  'SELECT test_code FROM tests WHERE account_code = $1 AND lower(test_code) = lower($2) ORDER BY test_code LIMIT 1',
);

/** The codes in the body of a request that must exist in the account's catalogue; null for an absent code. */
interface CatalogueQuestion {
  account: string;
  test: string | null;
  school: string | null;
  accommodations: string[];
  attributes: string[];
}

interface CatalogueRow {
  n: number;
  /** The retake policy of the test, empty if the test has no policy; null if the test does not exist. */
  retake: RetakePolicy | null;
  portions: string[];
  school_known: boolean;
  accommodations: string[];
  approval_pending: boolean;
  attribute_keys: string[];
}

/** The codes of a stored record. The record may keep them even if the catalogue no longer contains them. */
interface Known {
  /** The id of the stored record; null if the record does not exist yet. */
  svc_eligiblity_id: string | null;
  school_code: string | null;
  attribute_keys: string[];
  portion_codes: string[];
  country: string | null;
  province_state: string | null;
}

const NOTHING_KNOWN: Known = {
  svc_eligiblity_id: null,
  school_code: null,
  attribute_keys: [],
  portion_codes: [],
  country: null,
  province_state: null,
};

/** Returns the attribute keys in the order of the body, with undefined instead of a key that has a fault. */
function attributeKeysOf(faults: Faults, candidate: Partial<EligibilityModel['candidate']>): (string | undefined)[] {
  const pointer = '/candidate/additional_attributes';
  const given = faults.member(pointer, candidate.additional_attributes);
  if (!Array.isArray(given)) return [];
  return given.map((entry, index) =>
    faults.at(`${pointer}/${index}`) || faults.concern(`${pointer}/${index}/key`) ? undefined : entry.key,
  );
}

export interface CheckedBody {
  /** The codes of the test portions that the record will have. */
  portionCodes: string[];
  /** Whether a requested accommodation needs an operator's approval. */
  approvalPending: boolean;
  /** The retake policy of the test; null if it has none. */
  retake: RetakePolicy | null;
}

/** Checks the codes in a request's body against the account's catalogue. Members that have a fault are not checked. */
@Injectable()
export class CatalogueCheck {
  private readonly lookUp: Batched<CatalogueQuestion, CatalogueRow>;

  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {
    this.lookUp = new Batched<CatalogueQuestion, CatalogueRow>(database, LOOK_UP, numbered, JSON.stringify);
  }

  forNew(accountCode: string, body: EligibilityModel, faults: Faults): Promise<CheckedBody> {
    const testCode = faults.concern('/test_code') ? null : body.test_code;
    return this.check(accountCode, testCode, body, faults, null);
  }

  /**
   * Checks the body of an update.
   * @param testCode the test in the path
   * @param record the record to change; null if there is none, in which case the request will be refused anyway
   */
  forChange(
    accountCode: string,
    testCode: string,
    body: EligibilityModel,
    faults: Faults,
    record: Eligibility | null,
  ): Promise<CheckedBody> {
    const attribute_keys = record?.additional_attributes.map(({ key }) => key) ?? [];
    return this.check(accountCode, testCode, body, faults, { ...(record ?? NOTHING_KNOWN), attribute_keys });
  }

  private async check(
    accountCode: string,
    testCode: string | null,
    body: EligibilityModel,
    faults: Faults,
    changed: Known | null,
  ): Promise<CheckedBody> {
    const known = changed ?? NOTHING_KNOWN;
    const candidate = faults.member('/candidate', body.candidate) ?? ({} as Partial<EligibilityModel['candidate']>);
    const school = faults.member('/candidate/school_code', candidate.school_code);
    // An update must not change the accommodations, not even to other accommodations in the account's catalogue.
    const accommodations =
      changed === null ? faults.entries('/candidate/special_accommodations', candidate.special_accommodations) : [];
    const attributeKeys = attributeKeysOf(faults, candidate);
    const [catalogue] = await this.lookUp.ask({
      account: accountCode,
      test: testCode,
      school: school ?? null,
      accommodations: accommodations.filter((code) => code !== undefined),
      attributes: attributeKeys.filter((key) => key !== undefined),
    });
    const found: Fault[] = [];
    const add = (pointer: string, code: string, detail: string) => found.push({ pointer, code, detail });

    if (catalogue.retake === null && testCode !== null)
      add(
        '/test_code',
        'test_unknown',
        `The account has no test with this code.${await this.nearTest(accountCode, testCode)}`,
      );
    if (school != null && school !== known.school_code && !catalogue.school_known)
      add('/candidate/school_code', 'school_code_unknown', 'The account has no school with this code.');
    accommodations.forEach((code, index) => {
      if (code === undefined || catalogue.accommodations.includes(code)) return;
      const pointer = `/candidate/special_accommodations/${index}`;
      add(pointer, 'accommodation_unknown', 'The account has no accommodation with this code.');
    });
    attributeKeys.forEach((key, index) => {
      if (key === undefined) return;
      const pointer = `/candidate/additional_attributes/${index}/key`;
      if (!catalogue.attribute_keys.includes(key) && !known.attribute_keys.includes(key))
        add(pointer, 'attribute_key_unknown', 'The account has no attribute key with this name.');
      if (attributeKeys.indexOf(key) < index)
        add(pointer, 'attribute_key_repeated', 'The list contains this key twice.');
    });
    found.push(...provinceFault(faults, candidate, known));
    const portions = portionsOf(body, faults, catalogue, changed);
    const vouchers = faults.entries('/voucher_codes', body.voucher_codes);
    faults.add(...found, ...portions.faults);
    if (!faults.isEmpty) faults.add(...(await this.voucherFaults(accountCode, testCode, vouchers, known)));
    return {
      portionCodes: portions.chosen,
      approvalPending: catalogue.approval_pending,
      retake: catalogue.retake === null || Object.keys(catalogue.retake).length === 0 ? null : catalogue.retake,
    };
  }

  /**
   * Returns the end of an error message, which suggests a test code that differs only in case; empty if there is none.
   */
  private async nearTest(accountCode: string, testCode: string): Promise<string> {
    const near = await this.database.queryOne<{ test_code: string }>(NEAR_TEST, [accountCode, testCode]);
    return near === null ? '' : ` Did you mean "${near.test_code}"?`;
  }

  /**
   * Returns the faults of the vouchers in a request that will be refused anyway because of other faults. In a valid
   * request, the vouchers are locked and checked when they are redeemed.
   */
  private async voucherFaults(
    accountCode: string,
    testCode: string | null,
    vouchers: (string | undefined)[],
    known: Known,
  ): Promise<Fault[]> {
    const codes = vouchers.filter((code) => code !== undefined);
    if (codes.length === 0 || testCode === null) return [];
    const refusals = await this.queryBus.execute(
      new FindVoucherRefusals(accountCode, known.svc_eligiblity_id, testCode, codes),
    );
    return refusalFaults(refusals, vouchers, '/voucher_codes');
  }
}

/**
 * Returns the portions that the record will have: the requested portions, or the current portions if the request omits
 * the portions or names the same portions.
 */
function portionsOf(
  body: EligibilityModel,
  faults: Faults,
  catalogue: CatalogueRow,
  changed: Known | null,
): { chosen: string[]; faults: Fault[] } {
  const asked = faults.entries('/portion_codes', body.portion_codes);
  const codes = asked.filter((code) => code !== undefined);
  const known = changed?.portion_codes ?? [];
  if (changed !== null && (body.portion_codes === undefined || isSameSet(codes, known)))
    return { chosen: known, faults: [] };
  const chosen = chosenPortions(codes, catalogue.portions);
  if (catalogue.retake === null || !faults.member('/portion_codes', true)) return { chosen, faults: [] };
  if (asked.length === 0 && catalogue.portions.length > 1)
    return {
      chosen,
      faults: [
        {
          pointer: '/portion_codes',
          code: 'portion_required',
          detail: 'The test has several portions: name one or more.',
        },
      ],
    };
  const unknown = asked.flatMap((code, index) =>
    code === undefined || catalogue.portions.includes(code) || known.includes(code)
      ? []
      : [
          {
            pointer: `/portion_codes/${index}`,
            code: 'portion_unknown',
            detail: 'The test has no portion with this code.',
          },
        ],
  );
  return { chosen, faults: unknown };
}

/**
 * Returns a fault if the address is in the United States and its province is not a USPS code. If the body has only the
 * country or only the province, the missing value is taken from the stored record.
 */
function provinceFault(faults: Faults, candidate: Partial<EligibilityModel['candidate']>, known: Known): Fault[] {
  if (faults.concern('/candidate/country') || faults.concern('/candidate/province_state')) return [];
  const country = candidate.country === undefined ? known.country : (candidate.country?.toUpperCase() ?? null);
  const province = candidate.province_state === undefined ? known.province_state : candidate.province_state;
  if (country !== 'US' || province === null || isUspsCode(province)) return [];
  const meant = province.trim().toUpperCase().replace(/^US-/, '');
  const hint = isUspsCode(meant) ? ` Did you mean "${meant}"?` : '';
  return [
    {
      pointer: candidate.province_state === undefined ? '/candidate/country' : '/candidate/province_state',
      code: 'province_state_invalid',
      detail: `Must be a two-letter USPS code for the United States, in capitals.${hint}`,
    },
  ];
}
