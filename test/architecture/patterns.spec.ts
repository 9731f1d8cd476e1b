import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Checks that a pattern of the document has the same meaning with and without the `u` flag, and in the dialects of
 * Python, RE2 and Java. Code generators and validators with all of these dialects read the document.
 */
const document = readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8');

function patternsIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string') return name === 'pattern' ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([member, inner]) => patternsIn(inner, member));
}

/** Returns the escapes and constructs of a pattern whose meaning may differ between dialects. */
const unportable = (pattern: string): string[] =>
  pattern.replaceAll(/\\x[0-9a-f]{2}|\\[\\/.^$|?*+()[\]{}-]/g, '').match(/\\.|\(\?.|[*+?}][+?]|&&|\[\[|\[\]/g) ?? [];

/**
 * The texts that are matched against the patterns. tools/openapi also passes these texts to the regular-expression
 * engines of other languages.
 */
const TEXTS = JSON.parse(readFileSync(join(__dirname, 'pattern-texts.json'), 'utf8')) as string[];

describe('the patterns of the OpenAPI document', () => {
  const patterns = [...new Set(patternsIn(JSON.parse(document)))];

  it('the OpenAPI document uses no character class, look-around or flag that some dialect of regular expressions lacks or interprets differently', () => {
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => unportable(pattern).length > 0)).toEqual([]);
  });

  it('the patterns of the OpenAPI document mean the same with and without the u flag', () => {
    const differing = patterns.flatMap((pattern) =>
      TEXTS.filter((text) => new RegExp(pattern).test(text) !== new RegExp(pattern, 'u').test(text)).map((text) => [
        pattern,
        text,
      ]),
    );
    expect(differing).toEqual([]);
  });

  it('the pattern check reports a pattern that some dialect of regular expressions interprets differently', () => {
    for (const pattern of [
      '\\p{C}',
      '\\s',
      '\\S',
      '\\d',
      '\\w',
      '(?!a)',
      '(?<!a)',
      '(?i)a',
      'a++',
      'a*?',
      '\\u0041',
      '[a&&b]',
    ])
      expect([pattern, unportable(pattern).length > 0]).toEqual([pattern, true]);
    expect(unportable('^[^\\x00-\\x20/\\\\]+[A-Za-z0-9._-]{2,3}\\.$')).toEqual([]);
  });
});
