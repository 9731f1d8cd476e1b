// Takes the version of package.json to the packages of clients/ and to docs/openapi.json. npm runs it at `npm version`, which is all that
// a release has to change beside CHANGELOG.md: npm version 1.2.3 --no-git-tag-version
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function change(path, set) {
  const value = JSON.parse(readFileSync(join(root, path), 'utf8'));
  set(value);
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}

for (const name of readdirSync(join(root, 'clients')))
  change(`clients/${name}/package.json`, (manifest) => (manifest.version = version));
change('docs/openapi.json', ({ info }) => (info.version = version));
