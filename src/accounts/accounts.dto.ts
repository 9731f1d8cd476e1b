import { Field, isObject, ObjectField, ObjectListField, ReadOnlyMembers } from '../platform/validation/fields.js';
import { httpUrl } from '../platform/validation/formats.js';
import {
  boolean,
  catalogueCode,
  dateTime,
  fault,
  integer,
  listOf,
  oneOf,
  text,
  type Rule,
} from '../platform/validation/rules.js';
import { AccountPath, accountCodeRule, testCodeRule } from '../platform/validation/identifiers.js';
import { declareFaults, declareWarnings } from '../platform/errors.js';

declareFaults({
  portion_code_repeated: ['The test has two portions with the same code.', 'Use a different code for each portion.'],
  days_repeated: ['The list contains the same number of days twice.', 'Send each number of days once.'],
});
declareWarnings({
  code_not_portable: [
    'The code contains characters that other systems may refuse.',
    'Use only ASCII letters, digits, hyphens, dots and underscores.',
  ],
});

/**
 * The description of catalogue codes in the API documentation. The specification says "alphanumeric", but clients also
 * use codes with other characters.
 */
const CODE_TAKEN =
  'Usually alphanumeric. Other characters are accepted with an entry in `warnings`, because some systems refuse ' +
  'blanks, slashes and letters outside ASCII.';
const MOST_PORTIONS = 50;
const MOST_MINUTES = 100_000;
const MOST_HOURS = 8_760;
const MOST_DAYS = 36_500;
const MOST_ATTEMPTS = 1000;

const nameRule = text({ max: 200, notBlank: true });

/** The rule for the portions of a test. A test has at least one portion, and the codes of the portions are distinct. */
const portionsRule: Rule = {
  schema: { minItems: 1 },
  faults(value) {
    if (!Array.isArray(value)) return [];
    if (value.length === 0) return [fault('too_few', 'A test has one or more portions.')];
    const codes = value.map((portion: { portion_code?: unknown } | null) => portion?.portion_code);
    return codes.flatMap((portionCode, index) =>
      portionCode != null && codes.indexOf(portionCode) < index
        ? [fault('portion_code_repeated', 'Another portion of the test has the same code.', `/${index}/portion_code`)]
        : [],
    );
  },
};

const retakeRule: Rule = {
  schema: {},
  faults: (value) =>
    isObject(value) && value['period_days'] != null && value['max_attempts'] == null
      ? [fault('required', 'A period needs a number of attempts.', '/max_attempts')]
      : [],
};

export class TestPath extends AccountPath {
  @Field(testCodeRule, { required: true })
  test_code: string;
}

export class EntryPath extends AccountPath {
  @Field(catalogueCode(), { required: true })
  code: string;
}

const MOST_EXPIRING_DAYS = 365;
const dayList = listOf(integer(1, MOST_EXPIRING_DAYS), 20);

/** The rule for the list of days on which an account announces expiring eligibilities. The list has no duplicates. */
const expiringDaysRule: Rule = {
  schema: { ...dayList.schema, uniqueItems: true },
  faults(value) {
    const faults = dayList.faults(value);
    if (faults.length > 0) return faults;
    return (value as number[]).flatMap((days, index, all) =>
      all.indexOf(days) < index ? [fault('days_repeated', 'The number occurs twice.', `/${index}`)] : [],
    );
  },
};
const EXPIRING_DAYS =
  'Days before the end of the window of a PENDING or ELIGIBLE record at which the change `EXPIRING` occurs. With an ' +
  'empty list it never occurs.';

export class AccountBody {
  @Field(nameRule, { required: true, example: 'State Board of Nursing' })
  name: string;

  @Field(expiringDaysRule, { description: EXPIRING_DAYS })
  expiring_days?: number[] | null;
}

const retentionRule = integer(1, MOST_DAYS);

/** The changes to an account. An omitted member keeps its value. For a number of days, null means forever. */
@ReadOnlyMembers('account_code', 'created_datetime')
export class AccountChangeBody {
  @Field(nameRule, { notNull: true })
  name?: string;

  @Field(retentionRule, {
    description: 'Days after which photos of results are removed. With null they are never removed.',
  })
  photo_retention_days?: number | null;

  @Field(retentionRule, {
    description: 'Days after which video links of results are removed. With null they are never removed.',
  })
  video_retention_days?: number | null;

  @Field(retentionRule, {
    description:
      'Days after which candidates are erased if none of their records was open or changed. With null they are never erased.',
  })
  candidate_retention_days?: number | null;

  @Field(expiringDaysRule, { description: EXPIRING_DAYS })
  expiring_days?: number[] | null;
}

export class AccountModel {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(nameRule, { required: true })
  name: string;

  @Field(retentionRule, { always: true })
  photo_retention_days: number | null;

  @Field(retentionRule, { always: true })
  video_retention_days: number | null;

  @Field(retentionRule, { always: true })
  candidate_retention_days: number | null;

  @Field(expiringDaysRule, { required: true, description: EXPIRING_DAYS })
  expiring_days: number[];

  @Field(dateTime(), { required: true })
  created_datetime: string;
}

export class PortionModel {
  @Field(catalogueCode(), { required: true, example: 'THEORY', description: CODE_TAKEN })
  portion_code: string;

  @Field(nameRule)
  portion_name?: string | null;
}

export class CodeWarningModel {
  @Field(text({ max: 200 }), { required: true, description: 'JSON Pointer of the code.' })
  pointer: string;

  @Field(oneOf(['code_not_portable'], 'format_invalid'), { required: true })
  code: 'code_not_portable';

  @Field(text({ max: 500 }), { required: true })
  detail: string;
}

export class RetakeModel {
  @Field(integer(1, MOST_DAYS), { description: 'Number of days after an attempt before the next attempt is allowed.' })
  wait_days?: number | null;

  @Field(integer(1, MOST_ATTEMPTS), {
    description: 'The highest number of attempts in `period_days` or, without a period, in total.',
  })
  max_attempts?: number | null;

  @Field(integer(1, MOST_DAYS), { description: 'Days in which attempts are counted. It needs `max_attempts`.' })
  period_days?: number | null;
}

@ReadOnlyMembers('account_code', 'test_code', 'warnings')
export class TestBody {
  @Field(nameRule, { required: true })
  name: string;

  @Field(text({ max: 50, notBlank: true }), {
    description: `The id of the exam in the external system. ${CODE_TAKEN}`,
  })
  exam_code?: string | null;

  @Field(httpUrl(), { description: 'The address to which candidates are redirected with a launch token.' })
  launch_url?: string | null;

  @Field(integer(1, MOST_MINUTES), {
    description:
      'Duration of the exam in minutes. A booking that overlaps another exam of the candidate is refused with `booking_overlaps`.',
  })
  duration_minutes?: number | null;

  @Field(integer(0, MOST_HOURS), {
    description: 'Number of hours before the start after which clients can no longer move or cancel a booking.',
  })
  change_cutoff_hours?: number | null;

  @Field(integer(0, MOST_MINUTES), {
    description: 'Number of minutes before its start from which a booked exam can be launched.',
  })
  launch_minutes_before?: number | null;

  @ObjectField(() => RetakeModel, {
    description:
      'The rule for another attempt at the test. An attempt is an eligibility that became COMPLETED or ABSENT. With null, attempts are not limited.',
    and: retakeRule,
  })
  retake?: RetakeModel | null;

  @ObjectListField(() => PortionModel, MOST_PORTIONS, {
    required: true,
    description: 'The portions of the test, at least one.',
    and: portionsRule,
  })
  portions: PortionModel[];
}

export class TestModel extends TestBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(testCodeRule, { required: true })
  test_code: string;

  @ObjectListField(() => CodeWarningModel, MOST_PORTIONS + 1, {
    required: true,
    description: 'Codes that other systems may refuse. Usually the list is empty.',
  })
  warnings: CodeWarningModel[];
}

@ReadOnlyMembers('account_code', 'school_code')
export class SchoolBody {
  @Field(nameRule, { required: true })
  name: string;
}

export class SchoolModel extends SchoolBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(catalogueCode(), { required: true })
  school_code: string;
}

@ReadOnlyMembers('account_code', 'accommodation_code')
export class AccommodationBody {
  @Field(nameRule, { required: true })
  name: string;

  @Field(boolean(), {
    required: true,
    description: 'Whether an operator must approve the accommodation before the candidate can book.',
  })
  requires_approval: boolean;
}

export class AccommodationModel extends AccommodationBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(catalogueCode(), { required: true })
  accommodation_code: string;
}

@ReadOnlyMembers('account_code', 'attribute_key')
export class AttributeKeyBody {
  @Field(nameRule, { required: true })
  name: string;
}

export class AttributeKeyModel extends AttributeKeyBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(catalogueCode(), { required: true })
  attribute_key: string;
}
