import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../platform/database/database.js';
import type { Fault } from '../platform/errors.js';
import type { EligibilityModel } from './eligibility.dto.js';
import { chosenPortions, isUspsCode } from './eligibility.rules.js';

const LOOK_UP = prepared(
  'eligibility-catalogue',
  `SELECT
     EXISTS (SELECT FROM tests WHERE account_code = $1 AND test_code = $2) AS test_known,
     ARRAY(SELECT portion_code FROM test_portions WHERE account_code = $1 AND test_code = $2 ORDER BY ordinal) AS portions,
     EXISTS (SELECT FROM schools WHERE account_code = $1 AND school_code = $3) AS school_known,
     ARRAY(SELECT accommodation_code FROM accommodations WHERE account_code = $1 AND accommodation_code = ANY ($4)) AS accommodations,
     EXISTS (SELECT FROM accommodations WHERE account_code = $1 AND accommodation_code = ANY ($4) AND requires_approval) AS approval_pending,
     ARRAY(SELECT attribute_key FROM attribute_keys WHERE account_code = $1 AND attribute_key = ANY ($5)) AS attribute_keys`,
);

interface CatalogueRow {
  test_known: boolean;
  portions: string[];
  school_known: boolean;
  accommodations: string[];
  approval_pending: boolean;
  attribute_keys: string[];
}

/** What a record has already: it stays acceptable even when the catalogue has lost it since. */
interface Known {
  school_code: string | null;
  special_accommodations: string[];
  attribute_keys: string[];
  portion_codes: string[];
  country: string | null;
  province_state: string | null;
}

const NOTHING_KNOWN: Known = {
  school_code: null,
  special_accommodations: [],
  attribute_keys: [],
  portion_codes: [],
  country: null,
  province_state: null,
};

export interface CheckedBody {
  faults: Fault[];
  /** The portions that the record will have. */
  portionCodes: string[];
  /** Whether an accommodation asked for needs an operator's approval. */
  approvalPending: boolean;
}

/** Checks what a well-formed body says against the account's catalogue, in one statement. */
@Injectable()
export class CatalogueCheck {
  constructor(private readonly database: Database) {}

  /**
   * @param testCode the test of the record, which on an update is the path's
   * @param faults those of the form; members with such a fault are not looked at again
   */
  async check(
    accountCode: string,
    testCode: string,
    body: EligibilityModel,
    faults: Fault[],
    known: Known = NOTHING_KNOWN,
  ): Promise<CheckedBody> {
    const sound = new SoundMembers(faults);
    const candidate = sound.member('/candidate', body.candidate) ?? ({} as Partial<EligibilityModel['candidate']>);
    const school = sound.member('/candidate/school_code', candidate.school_code);
    const accommodations = sound.list('/candidate/special_accommodations', candidate.special_accommodations);
    const attributeKeys = sound
      .list('/candidate/additional_attributes', candidate.additional_attributes)
      .map((entry) => entry?.key);
    const portions = sound.list('/portion_codes', body.portion_codes);
    const rows = await this.database.query<CatalogueRow>(LOOK_UP, [
      accountCode,
      sound.is('/test_code') ? testCode : null,
      school ?? null,
      accommodations.filter((code) => code !== undefined),
      attributeKeys.filter((key) => key !== undefined),
    ]);
    const catalogue = rows[0]!;
    const found: Fault[] = [];
    const add = (pointer: string, code: string, detail: string) => found.push({ pointer, code, detail });

    if (!catalogue.test_known) {
      if (sound.is('/test_code')) add('/test_code', 'test_unknown', 'The account has no test with this code.');
    } else {
      portions.forEach((portion, index) => {
        if (portion !== undefined && !catalogue.portions.includes(portion) && !known.portion_codes.includes(portion))
          add(`/portion_codes/${index}`, 'portion_unknown', 'The test has no portion with this code.');
      });
      const mustChoose = body.portion_codes !== undefined || known.portion_codes.length === 0;
      if (mustChoose && sound.is('/portion_codes') && portions.length === 0 && catalogue.portions.length > 1)
        add('/portion_codes', 'portion_required', 'The test has several portions: name one or more.');
    }
    if (school != null && school !== known.school_code && !catalogue.school_known)
      add('/candidate/school_code', 'school_code_unknown', 'The account has no school with this code.');
    accommodations.forEach((accommodation, index) => {
      if (
        accommodation !== undefined &&
        !catalogue.accommodations.includes(accommodation) &&
        !known.special_accommodations.includes(accommodation)
      )
        add(
          `/candidate/special_accommodations/${index}`,
          'accommodation_unknown',
          'The account has no accommodation with this code.',
        );
    });
    attributeKeys.forEach((key, index) => {
      if (key === undefined) return;
      const pointer = `/candidate/additional_attributes/${index}/key`;
      if (!catalogue.attribute_keys.includes(key) && !known.attribute_keys.includes(key))
        add(pointer, 'attribute_key_unknown', 'The account has no attribute key with this name.');
      if (attributeKeys.indexOf(key) < index) add(pointer, 'attribute_key_repeated', 'The key stands twice.');
    });
    found.push(...provinceFault(sound, candidate, known));

    return {
      faults: [...faults, ...found],
      portionCodes:
        body.portion_codes === undefined && known.portion_codes.length > 0
          ? known.portion_codes
          : chosenPortions(
              portions.filter((code) => code !== undefined),
              catalogue.portions,
            ),
      approvalPending: catalogue.approval_pending,
    };
  }
}

/** For the United States the province is a USPS code; a change of either member is judged with the other as it stands. */
function provinceFault(sound: SoundMembers, candidate: Partial<EligibilityModel['candidate']>, known: Known): Fault[] {
  if (!sound.is('/candidate/country') || !sound.is('/candidate/province_state')) return [];
  const country = candidate.country === undefined ? known.country : (candidate.country?.toUpperCase() ?? null);
  const province = candidate.province_state === undefined ? known.province_state : candidate.province_state;
  if (country !== 'US' || province === null || isUspsCode(province)) return [];
  return [
    {
      pointer: candidate.province_state === undefined ? '/candidate/country' : '/candidate/province_state',
      code: 'province_state_invalid',
      detail: 'Must be a two-letter USPS code for the United States.',
    },
  ];
}

/** The members of a body that the form check had nothing against. */
class SoundMembers {
  private readonly faulty: string[];

  constructor(faults: Fault[]) {
    this.faulty = faults.map((fault) => fault.pointer ?? '');
  }

  is(pointer: string): boolean {
    return !this.faulty.some((faulty) => faulty === pointer || faulty.startsWith(`${pointer}/`));
  }

  member<T>(pointer: string, value: T): T | undefined {
    return this.faulty.includes(pointer) ? undefined : value;
  }

  /** The entries of a list in their places; undefined where an entry has a fault. */
  list<T>(pointer: string, value: T[] | null | undefined): (T | undefined)[] {
    if (this.faulty.includes(pointer) || !Array.isArray(value)) return [];
    return value.map((entry, index) => (this.is(`${pointer}/${index}`) ? entry : undefined));
  }
}
