// Checks that the patterns of the document mean the same in the regular expression engines of JavaScript (with and
// without `u`), RE2 (Go), Python and Java. Python and Java are used if they are installed. Texts that end with a line
// break of Unicode are left out: in these two languages, `$` also matches before such a line break.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RE2JS } from 're2js';

const here = dirname(fileURLToPath(import.meta.url));
const read = (path) => JSON.parse(readFileSync(join(here, '../..', path), 'utf8'));

function patternsIn(value, name) {
  if (typeof value === 'string') return name === 'pattern' ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([member, inner]) => patternsIn(inner, member));
}

const base64 = (text) => Buffer.from(text).toString('base64');

/** Returns a matcher that uses an engine in a separate program; it returns null if the program is missing. */
function elsewhere(program, args) {
  return (pairs) => {
    const input = pairs.map((pair) => pair.map(base64).join(' ')).join('\n');
    const { error, status, stdout, stderr } = spawnSync(program, args, { cwd: here, input, encoding: 'utf8' });
    if (error?.code === 'ENOENT') return null;
    if (status !== 0) throw new Error(`${program}: ${stderr}`);
    return stdout
      .trim()
      .split('\n')
      .map((line) => line === '1');
  };
}

const ENGINES = {
  'JavaScript with u': (pairs) => pairs.map(([pattern, text]) => new RegExp(pattern, 'u').test(text)),
  RE2: (pairs) => pairs.map(([pattern, text]) => RE2JS.compile(pattern).matcher(text).find()),
  Python: elsewhere('python3', ['patterns.py']),
  Java: elsewhere('java', ['Patterns.java']),
};

/** @returns the differences, as lines, and the engines that were used */
export function comparePatterns(document = read('docs/openapi.json')) {
  const texts = read('test/architecture/pattern-texts.json').filter((text) => !/[\n\r\u0085\u2028\u2029]$/.test(text));
  const pairs = [...new Set(patternsIn(document))].flatMap((pattern) => texts.map((text) => [pattern, text]));
  const plain = pairs.map(([pattern, text]) => new RegExp(pattern).test(text));
  const asked = [];
  const differing = Object.entries(ENGINES).flatMap(([name, engine]) => {
    const found = engine(pairs);
    if (found === null) return [];
    asked.push(name);
    return pairs
      .filter((_, index) => found[index] !== plain[index])
      .map(([pattern, text]) => `${name} reads ${pattern} otherwise in ${JSON.stringify(text)}`);
  });
  return { differing, asked, compared: pairs.length };
}
