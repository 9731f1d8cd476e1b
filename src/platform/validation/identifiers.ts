import { Field } from './fields.js';
import { text, type Rule } from './rules.js';
import { suggesting } from './suggesting.js';
import { declareFaults } from '../errors.js';

declareFaults({
  test_code_invalid: [
    'The value cannot be used as a test code.',
    'Use at most 50 characters: letters, digits and hyphens.',
  ],
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The rule for an account code, which the service generates. */
export const accountCodeRule = text({ min: 1, max: 50, example: 'K7MWQ2XA9PDR' });

const TEST_CODE = /^[A-Za-z0-9-]+$/;
/** The dashes that word processors insert instead of a hyphen. */
const DASHES = /[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/g;

/** The rule for a test code. */
export const testCodeRule = suggesting(
  text({
    min: 1,
    max: 50,
    code: 'test_code_invalid',
    form: 'Must consist of letters, digits and hyphens.',
    pattern: TEST_CODE,
    example: 'NURSE-RN',
  }),
  'test_code_invalid',
  (code) => {
    const meant = code.replaceAll(DASHES, '-').trim();
    return TEST_CODE.test(meant) ? meant : null;
  },
);

export const uuidRule = text({ max: 36, pattern: UUID, form: 'Must be a UUID in lower case.' });

/**
 * The rule for a generated id in a path. The rule accepts every text. For a text that is not a UUID, the response is
 * 404, as for an unknown record ({@link isUuid}).
 */
export const idInPath: Rule = { schema: uuidRule.schema, faults: () => [] };

/** Returns whether the text is a UUID in the form that the service writes. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}

/** The path parameters of the routes that concern one account. */
export class AccountPath {
  @Field(accountCodeRule, { required: true })
  account_code: string;
}
