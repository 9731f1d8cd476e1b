import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, '../../src/migrations');
/**
 * The list of released migrations, with a line `<SHA-256> <file>` for each migration. release.mjs writes these lines.
 */
const RELEASED = readFileSync(join(__dirname, '../fixtures/released-migrations.txt'), 'utf8');

/**
 * Returns the released files whose content has changed since the release, and the files for which `read` returns
 * undefined.
 */
function changedFiles(read: (file: string) => string | undefined): string[] {
  return RELEASED.trim()
    .split('\n')
    .map((line) => line.split('  '))
    .filter(([hash, file]) => {
      const text = read(file);
      return text === undefined || createHash('sha256').update(text).digest('hex') !== hash;
    })
    .map(([, file]) => file);
}

const files = readdirSync(FOLDER);
const present = (file: string) => (files.includes(file) ? readFileSync(join(FOLDER, file), 'utf8') : undefined);

test('no released migration has changed since its release', () => {
  expect(changedFiles(present)).toEqual([]);
});

test('the check of released migrations finds a planted change and a planted deletion', () => {
  const [first, second] = files.sort();
  expect(changedFiles((file) => (file === first ? `${present(file)}\n` : present(file)))).toEqual([first]);
  expect(changedFiles((file) => (file === second ? undefined : present(file)))).toEqual([second]);
});

test('each unreleased migration has a later timestamp than all released ones', () => {
  const released = RELEASED.match(/\d+-\S+/g)!.sort();
  const later = files.filter((file) => !released.includes(file));
  expect(later.filter((file) => file < released.at(-1)!)).toEqual([]);
});
