import { formatDateTime, parseDateTime } from '../clock.js';
import { declareFaults, type Fault } from '../errors.js';
import { allowedCharacters, codePoints, hasControl, isUnseen } from './characters.js';

/** A JSON Schema as OpenAPI 3.1 uses it. */
export type Schema = Record<string, unknown>;

/** A rule for the value of a member: its check, and its schema in the OpenAPI document. */
export interface Rule {
  readonly schema: Schema;
  /** Returns the faults of a value that is not null. Pointers are relative to the value (`""`, `/3`). */
  faults(value: unknown): Fault[];
}

declareFaults({
  type_invalid: [
    'The value has the wrong JSON type.',
    'Send the JSON type that the API description states for the member.',
  ],
  control_character: [
    'The text contains a control character, an invisible character that changes the direction of text, or the replacement character U+FFFD.',
    'Remove the character. Line breaks and tabs are allowed only in the members comments, overAllComments, reviewerNotes and reason, and in members that contain PEM.',
  ],
  lone_surrogate: [
    'The text contains half of a surrogate pair, which is not a valid character.',
    'Send well-formed Unicode.',
  ],
  too_long: ['The text is too long.', 'Shorten the text. Its length is counted in Unicode code points.'],
  too_short: ['The text is too short.', 'Send a longer text. Its length is counted in Unicode code points.'],
  blank: [
    'The text is empty or contains only spaces and invisible characters.',
    'Send a value. An optional member may also be left out.',
  ],
  format_invalid: [
    'The value does not have the required format.',
    'Use the format that the API description states for the member.',
  ],
  kind_unknown: [
    'The value is not a known kind of job or change.',
    'Use one of the values that the API description lists for `kind`.',
  ],
  out_of_range: [
    'The number is too small or too large.',
    'Send a number between the minimum and the maximum that the API description states.',
  ],
  too_many: ['The list has too many entries.', 'Send no more entries than the API description allows.'],
  too_few: ['The list has too few entries.', 'Send at least as many entries as the API description requires.'],
  date_time_invalid: [
    'The value is not a valid date and time in the form YYYY-MM-DDThh:mm:ssZ.',
    'Send the time in UTC with whole seconds, without a fraction and without an offset.',
  ],
  code_invalid: [
    'The code cannot be part of a URL, or it contains characters that cannot be printed.',
    'Use printable characters other than / and \\, and no spaces at the beginning or end.',
  ],
});

export function fault(code: string, detail: string, pointer = ''): Fault {
  return { pointer, code, detail };
}

interface TextOptions {
  min?: number;
  max: number;
  /** The fault code for a text that does not match the pattern. */
  code?: string;
  pattern?: RegExp;
  /**
   * The pattern for the OpenAPI document, if it differs from `pattern`. It must have the same meaning in every dialect
   * of regular expressions: no \\p, \\s, \\d, look-around or flags. The description states what the pattern cannot
   * express.
   */
  portable?: RegExp;
  /** The description of the pattern in words, for the OpenAPI document. */
  form?: string;
  format?: string;
  /** Whether a text that is empty or consists only of white space is refused. */
  notBlank?: boolean;
  /** Whether line breaks and tabs are allowed in the text. */
  lines?: boolean;
  example?: string;
  accepts?: (value: string) => boolean;
  description?: string;
}

/** Returns a fault if the text contains forbidden characters; null otherwise. */
export function characterFault(value: string, lines = false): Fault | null {
  if (hasControl(value, lines)) return fault('control_character', 'Control characters are not allowed.');
  if (!value.isWellFormed()) return fault('lone_surrogate', 'The text contains half of a surrogate pair.');
  return null;
}

export function text(options: TextOptions): Rule {
  const { min = 0, max, pattern, accepts, code = 'format_invalid' } = options;
  const form = options.form ?? 'The value does not have the right form.';
  const shown = (options.portable ?? pattern)?.source ?? allowedCharacters(options);
  return {
    schema: {
      type: 'string',
      ...(min > 0 || options.notBlank ? { minLength: Math.max(min, 1) } : {}),
      maxLength: max,
      pattern: shown,
      ...(options.format ? { format: options.format } : {}),
      ...(options.example !== undefined ? { example: options.example } : {}),
      ...(options.description ? { description: options.description } : {}),
    },
    faults(value) {
      if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
      const character = characterFault(value, options.lines);
      if (character) return [character];
      const length = codePoints(value);
      if (length > max) return [fault('too_long', `Must have at most ${max} characters.`)];
      if (value.trim() === '' ? options.notBlank : isUnseen(value)) return [fault('blank', 'Must not be blank.')];
      if (length < min) return [fault(length === 0 ? 'blank' : 'too_short', `Must have at least ${min} characters.`)];
      if (pattern && !pattern.test(value)) return [fault(code, form)];
      if (accepts && !accepts(value)) return [fault(code, form)];
      return [];
    },
  };
}

export function integer(min: number, max: number): Rule {
  return {
    schema: { type: 'integer', format: max <= 2 ** 31 - 1 ? 'int32' : 'int64', minimum: min, maximum: max },
    faults(value) {
      if (typeof value !== 'number' || !Number.isInteger(value)) return [fault('type_invalid', 'Must be an integer.')];
      if (value < min || value > max) return [fault('out_of_range', `Must be between ${min} and ${max}.`)];
      return [];
    },
  };
}

export function decimal(min: number, max: number): Rule {
  return {
    schema: { type: 'number', minimum: min, maximum: max },
    faults(value) {
      if (typeof value !== 'number' || !Number.isFinite(value)) return [fault('type_invalid', 'Must be a number.')];
      if (value < min || value > max) return [fault('out_of_range', `Must be between ${min} and ${max}.`)];
      return [];
    },
  };
}

export function boolean(): Rule {
  return {
    schema: { type: 'boolean' },
    faults: (value) => (typeof value === 'boolean' ? [] : [fault('type_invalid', 'Must be true or false.')]),
  };
}

/** Returns the rule for a query parameter that is `true` or `false`. */
export function flag(): Rule {
  return {
    schema: { type: 'string', enum: ['true', 'false'] },
    faults: (value) =>
      value === 'true' || value === 'false' ? [] : [fault('type_invalid', 'Must be true or false, given once.')],
  };
}

/**
 * Returns the rule for a text that must be one of `values`. With `anyCase`, the text is accepted in upper, lower or
 * mixed case, and is stored as it was sent.
 */
export function oneOf(values: readonly string[], code: string, { anyCase = false } = {}): Rule {
  // The pattern lists both cases of each letter, because `toLowerCase` would also turn characters such as the Kelvin
  // sign into ASCII letters.
  const pattern = anyCase ? `^(${values.map(inAnyCase).join('|')})$` : null;
  const form = pattern === null ? null : new RegExp(pattern);
  const isKnown = (value: string) => (form === null ? values.includes(value) : form.test(value));
  return {
    schema: pattern
      ? {
          type: 'string',
          maxLength: Math.max(...values.map((value) => value.length)),
          pattern,
          description: `One of ${values.join(', ')}, in any case.`,
          example: values[0],
        }
      : { type: 'string', enum: [...values] },
    faults(value) {
      if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
      return isKnown(value) ? [] : [fault(code, `Must be one of ${values.join(', ')}.`)];
    },
  };
}

function inAnyCase(word: string): string {
  return word.replaceAll(/[A-Za-z]/g, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);
}

export function listOf(item: Rule, maxItems: number, minItems = 0): Rule {
  return {
    schema: { type: 'array', items: item.schema, maxItems, ...(minItems > 0 ? { minItems } : {}) },
    faults(value) {
      if (!Array.isArray(value)) return [fault('type_invalid', 'Must be an array.')];
      if (value.length > maxItems) return [fault('too_many', `Must have at most ${maxItems} entries.`)];
      if (value.length < minItems) return [fault('too_few', `Must have at least ${minItems} entries.`)];
      return value.flatMap((entry: unknown, index) => faultsOfEntry(item, entry, index));
    },
  };
}

function faultsOfEntry(item: Rule, entry: unknown, index: number): ReturnType<Rule['faults']> {
  const faults = entry == null ? [fault('type_invalid', 'Must not be null.')] : item.faults(entry);
  return faults.map((found) => ({ ...found, pointer: `/${index}${found.pointer}` }));
}

/** Returns the rule for a list in which repeated values count once. Faults in equal values are reported once. */
export function setOf(item: Rule, maxItems: number): Rule {
  const list = listOf(item, maxItems);
  return {
    schema: list.schema,
    faults(value) {
      const distinct = new Set<unknown>(Array.isArray(value) ? value : []);
      if (distinct.size === 0 || distinct.size > maxItems) return list.faults(value);
      return [...distinct].flatMap((entry) => faultsOfEntry(item, entry, (value as unknown[]).indexOf(entry)));
    },
  };
}

const DATE_ALONE = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;
const DATE_TIME_LENGTH = 'YYYY-MM-DDThh:mm:ssZ'.length;

/**
 * The time that is suggested for a date without a time: the first second of the day, its last second, or the first
 * second of the next day for an exclusive end.
 */
const MOMENTS_OF_DATE = {
  first: (date: string) => `${date}T00:00:00Z`,
  last: (date: string) => `${date}T23:59:59Z`,
  end: (date: string) => formatDateTime(new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS)),
};

/** Returns the time to suggest for a date without a time; null for any other text. */
function momentOfDate(value: string, meant: keyof typeof MOMENTS_OF_DATE): string | null {
  if (!DATE_ALONE.test(value) || parseDateTime(`${value}T00:00:00Z`) === null) return null;
  return MOMENTS_OF_DATE[meant](value);
}

/**
 * Returns the rule for a time of the form `YYYY-MM-DDThh:mm:ssZ`. The date and the time of day must exist.
 * @param meant the time of day that the fault suggests if the text is a date without a time
 */
export function dateTime(meant: keyof typeof MOMENTS_OF_DATE = 'first'): Rule {
  return {
    schema: {
      type: 'string',
      format: 'date-time',
      minLength: DATE_TIME_LENGTH,
      maxLength: DATE_TIME_LENGTH,
      pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$',
      example: formatDateTime(new Date('2027-01-31T08:00:00Z')),
    },
    faults(value) {
      if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
      const date = parseDateTime(value);
      // Times in the year 0 are refused, because PostgreSQL has no such year.
      if (date !== null && date.getUTCFullYear() >= 1) return [];
      const moment = momentOfDate(value, meant);
      const remedy = moment === null ? '' : ` A date needs a time: write ${moment}.`;
      return [fault('date_time_invalid', `Must be an existing time in UTC, written YYYY-MM-DDThh:mm:ssZ.${remedy}`)];
    },
  };
}

/**
 * Returns the rule for a code or id that clients choose. Such a code must fit in one segment of a path, and people must
 * be able to distinguish codes. Invisible characters are therefore refused (Unicode's category "other": controls,
 * direction marks, joiners, unassigned).
 */
export function code(
  max = 50,
  options: Pick<TextOptions, 'code' | 'example' | 'accepts' | 'description' | 'form' | 'portable'> = {},
): Rule {
  return text({
    min: 1,
    max,
    code: 'code_invalid',
    form: 'Must be printable, without / and \\ and without spaces at the beginning or end.',
    description: 'Printable characters: no invisible Unicode characters, and no spaces at the beginning or end.',
    pattern: /^(?!\s)[^/\\\p{C}\u2028\u2029]+(?<!\s)$/u,
    portable: /^[^\x00-\x20\x7f-\xa0/\\]([^\x00-\x1f\x7f-\x9f/\\]*[^\x00-\x20\x7f-\xa0/\\])?$/,
    ...options,
  });
}

/**
 * Returns the rule for a code in an account's catalogue. Such a code must not contain `;`, which separates the entries
 * of a list in one cell of an import file.
 */
export function catalogueCode(): Rule {
  return code(50, {
    form: 'Must be printable, without / \\ and ; and without spaces at the beginning or end.',
    description:
      'Printable characters without `;`: no invisible Unicode characters, and no spaces at the beginning or end.',
    accepts: (value) => !value.includes(';'),
    portable: /^[^\x00-\x20\x7f-\xa0/\\;]([^\x00-\x1f\x7f-\x9f/\\;]*[^\x00-\x20\x7f-\xa0/\\;])?$/,
  });
}
