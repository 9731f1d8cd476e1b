import { DomainError } from '../errors.js';
import { parseJsonBody, repeatedMembers } from './json-members.js';
import { excessOf } from './json-text.js';

/** Counts the JSON values in the result of JSON.parse. */
function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + valuesOf(member), 1);
}

describe('the number of values of a JSON text', () => {
  it.each([
    '1',
    '"text"',
    '{}',
    '[]',
    ' [ ] ',
    '[1]',
    '[1,2,3]',
    '{"a":1}',
    '{"a":{"b":[1,{},[],[[]]]}}',
    '[ {} , [ ] , "" ]',
    '{"a,b[{":"]},\\"[","c":"\\\\"}',
    '["\\\\\\"",1]',
  ])('counts the values in the JSON text %s', (text) => {
    const count = valuesOf(JSON.parse(text));
    expect([excessOf(Buffer.from(text), count), excessOf(Buffer.from(text), count - 1)]).toEqual([
      null,
      count === 1 ? null : 'values',
    ]);
  });

  it('counts the values of both members if a name occurs twice in a JSON object', () => {
    expect(excessOf(Buffer.from('{"a":1,"a":2}'), 2)).toBe('values');
  });

  it('reports how deeply the arrays and objects of a JSON text are nested', () => {
    const nested = Buffer.from('[[],{"a":[1]},[]]');
    expect([excessOf(nested, 100, 3), excessOf(nested, 100, 2)]).toEqual([null, 'depth']);
  });

  it.each(['"\\', '"', '[', '{"a', ',,,,'])('counting the values in malformed JSON always terminates: %s', (text) => {
    expect(excessOf(Buffer.from(text), 100)).toBeNull();
  });
});

describe('parseJsonBody', () => {
  const refusal = (bytes: Buffer): string => {
    try {
      parseJsonBody(bytes);
    } catch (error) {
      if (error instanceof DomainError) return error.code;
      throw error;
    }
    return 'none';
  };
  const list = (entries: number) => Buffer.from(`[${'1,'.repeat(entries - 1)}1]`);

  it('accepts a JSON body with 100,000 values, but not one with more', () => {
    expect(refusal(list(99_999))).toBe('none');
    expect(refusal(list(100_000))).toBe('payload_too_large');
    expect(refusal(list(3_000_000))).toBe('payload_too_large');
  });

  it('ignores a byte order mark before a JSON body', () => {
    expect(parseJsonBody(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 });
  });

  it('refuses a JSON body with a member that occurs twice, and names the member', () => {
    const bytes = Buffer.from('{"candidate":{"a/b":1,"a\\u002fb":1}}');
    expect(() => parseJsonBody(bytes)).toThrow('The member /candidate/a~1b appears more than once.');
  });

  it.each([[''], ['{'], ['"\\x"'], ['['.repeat(100) + ']'.repeat(100)]])(
    'refuses the body %s as malformed JSON',
    (text) => {
      expect(refusal(Buffer.from(text))).toBe('malformed_json');
    },
  );
});

describe('repeated members', () => {
  it.each([
    ['{}', []],
    ['[]', []],
    ['"a"', []],
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []],
    ['{"a":1, "a" : 1 }', []],
    ['{"a":"x","a":"y"}', ['/a']],
    ['{"a":{"b":[1,2]},"a":null}', ['/a']],
    ['[ {"x":{"a\\"}":[],"a\\"}":[[]]}} ]', ['/0/x/a"}']],
    ['{"":1,"":2,"\\u0000":3}', ['/']],
  ])('finds the repeated members of %s', (text, expected) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(repeatedMembers(Buffer.from(text))).toEqual(expected);
  });

  const repeats = Array.from({ length: 150 }, (_, at) => `"k${at}":1,"k${at}":2`).join();

  it('finds a repeated member near the top of a JSON text, however many deeper repeated members precede it', () => {
    const deep = `"x":{"y":{"z":{${repeats}}}}`;
    expect(repeatedMembers(Buffer.from(`{${deep},"code":1,"code":2,"meta":{"a":1,"a":2}}`)).slice(100)).toEqual([
      '/code',
      '/meta/a',
    ]);
  });

  it('truncates long names in the pointers to repeated members, and in the error that refuses the body', () => {
    const body = Buffer.from(`{"${'n'.repeat(200_000)}":{${repeats}}}`);
    const found = repeatedMembers(body);
    expect([found.length, found.every((pointer) => pointer.length < 120)]).toEqual([150, true]);
    const refusal = () => parseJsonBody(body);
    expect(refusal).toThrow(DomainError);
    expect(refusal).not.toThrow(/n{101}/);
  });
});
