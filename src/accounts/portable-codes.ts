import type { CodeWarningModel, TestBody } from './accounts.dto.js';

/** Matches codes that other systems accept in URLs, file names, tables and identifiers. */
const PORTABLE = /^[A-Za-z0-9._-]*$/;

/** Returns a warning for each code of the test that contains characters that other systems may refuse. */
export function warningsOf({ exam_code, portions }: Pick<TestBody, 'exam_code' | 'portions'>): CodeWarningModel[] {
  const codes: [pointer: string, code: string][] = [
    ['/exam_code', exam_code ?? ''],
    ...portions.map(({ portion_code }, at): [string, string] => [`/portions/${at}/portion_code`, portion_code]),
  ];
  return codes
    .filter(([, code]) => !PORTABLE.test(code))
    .map(([pointer, code]) => ({
      pointer,
      code: 'code_not_portable',
      detail: `Some systems refuse ${refusedIn(code)} in a code.`,
    }));
}

function refusedIn(code: string): string {
  const found = [
    [/\s/u, 'blanks'],
    [/[/\\]/u, 'slashes'],
    [/[^\x00-\x7f]/u, 'characters beyond ASCII'],
    [/[!-,:-@[\]^`{-~]/u, 'punctuation'],
  ] as const;
  const words = found.filter(([pattern]) => pattern.test(code)).map(([, word]) => word);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
