import { timeZone } from './formats.js';
import { catalogueCode, dateTime, integer, text } from './rules.js';

const codesOf = (faults: { code: string }[]) => faults.map(({ code }) => code);
const name = text({ max: 100, notBlank: true });
const city = text({ max: 100 });

describe('a text', () => {
  it.each([
    ['U+200B', '\u200b'],
    ['U+3164', '\u3164'],
    ['U+2800', '\u2800'],
    ['U+200B between blanks', ' \u200b '],
  ])('a text that consists only of %s counts as blank', (_what, value) => {
    expect([codesOf(name.faults(value)), codesOf(city.faults(value))]).toEqual([['blank'], ['blank']]);
  });

  it.each([
    ['U+202E', 'A\u202eb'],
    ['U+202D', '\u202dA'],
    ['U+FFFD', 'Zo\ufffd'],
  ])('a text with %s is refused because of a control character', (_what, value) =>
    expect(codesOf(name.faults(value))).toEqual(['control_character']),
  );

  it.each(['Ada', '\u200dसंजय', 'O’Neill', '李', '👩‍🚀', 'ليلى'])(
    'a text with visible characters is accepted: %s',
    (value) => expect(name.faults(value)).toEqual([]),
  );
});

describe('the schema of a text', () => {
  const characters = Array.from({ length: 0x100 }, (_, unit) => String.fromCharCode(unit));
  const values = ['', ' ', '\u00a0 ', ...characters.flatMap((one) => [one, `A${one}b`, ` ${one}`, `${one}A`])];

  it.each([{}, { min: 1 }, { notBlank: true }, { lines: true }, { lines: true, notBlank: true }])(
    'with the options %j, the JSON schema of a text accepts the same Latin-1 texts as the validation rule',
    (options) => {
      const rule = text({ max: 100, ...options });
      const { pattern, minLength = 0 } = rule.schema as { pattern: string; minLength?: number };
      const isShown = (value: string) => value.length >= minLength && new RegExp(pattern).test(value);
      // Unlike the pattern, the rule also refuses texts that consist only of invisible characters: the soft hyphen and,
      // if the text must not be blank, white space.
      const differing = values.filter((value) => isShown(value) !== (rule.faults(value).length === 0));
      expect(differing.filter((value) => !/^[\s\u00ad]+$/.test(value))).toEqual([]);
    },
  );
});

describe('the schema of an integer', () => {
  it('the schema of an integer has the format int32 up to 2147483647, and int64 for larger limits', () => {
    expect(integer(0, 2 ** 31 - 1).schema['format']).toBe('int32');
    expect(integer(0, 2 ** 31).schema['format']).toBe('int64');
  });
});

describe('a code of the catalogue', () => {
  it('a catalogue code must not contain a semicolon, which separates list entries in a file', () => {
    expect(codesOf(catalogueCode().faults('A;B'))).toEqual(['code_invalid']);
    expect(catalogueCode().faults('A,B')).toEqual([]);
  });
});

describe('a date without a time', () => {
  it('refuses a date without a time, and suggests the first second of the day, or its last second for the end of a window', () => {
    expect(dateTime().faults('2030-05-14')[0].detail).toContain('2030-05-14T00:00:00Z');
    expect(dateTime('last').faults('2030-05-14')[0].detail).toContain('2030-05-14T23:59:59Z');
    expect(dateTime().faults('2030-02-30')[0].detail).toContain('YYYY-MM-DDThh:mm:ssZ');
  });
});

describe('a time zone', () => {
  it.each(['UTC', 'America/New_York', 'Europe/Kyiv', 'Europe/Kiev', 'US/Eastern', 'Asia/Kolkata', 'Etc/GMT+5'])(
    'a time zone is accepted in the spelling of the tz database: %s',
    (zone) => expect(timeZone().faults(zone)).toEqual([]),
  );

  it.each([
    ['Europe/KYIV', 'Europe/Kyiv'],
    ['Us/Eastern', 'US/Eastern'],
    ['america/new york', 'America/New_York'],
  ])('the time zone %s is refused with the suggestion %s', (zone, meant) => {
    expect(timeZone().faults(zone)[0].detail).toContain(`Did you mean "${meant}"?`);
  });

  it.each(['Europe/KYIV', 'Us/Eastern', 'SystemV/EST5EDT', 'america/New_York', 'EST', 'Mars/Olympus'])(
    'a time zone is refused if its spelling differs from the tz database: %s',
    (zone) => expect(codesOf(timeZone().faults(zone))).toEqual(['time_zone_invalid']),
  );
});
