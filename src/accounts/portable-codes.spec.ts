import { warningsOf } from './portable-codes';

const details = (exam_code: string | null, ...codes: string[]) =>
  warningsOf({ exam_code, portions: codes.map((portion_code) => ({ portion_code })) }).map(
    ({ pointer, detail }) => `${pointer}: ${detail}`,
  );

test('there is no warning about a code that consists of ASCII letters, digits, hyphens, dots and underscores', () => {
  expect(details('AZaz09-._', 'P1')).toEqual([]);
  expect(details(null)).toEqual([]);
});

test('one warning names all kinds of non-portable characters in a code, such as spaces and slashes', () => {
  expect(details('EX 1', 'A/B', 'Größe', 'a\u00a0b/ü+')).toEqual([
    '/exam_code: Some systems refuse blanks in a code.',
    '/portions/0/portion_code: Some systems refuse slashes in a code.',
    '/portions/1/portion_code: Some systems refuse characters beyond ASCII in a code.',
    '/portions/2/portion_code: Some systems refuse blanks, slashes, characters beyond ASCII and punctuation in a code.',
  ]);
});
