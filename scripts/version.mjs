// Copies the version in package.json to all other files that contain it: the packages of clients/, docs/openapi.json,
// the chart and its renderings. npm runs this script during `npm version`, which is a step of a release (release.mjs).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLIENT_VERSIONS } from './client-versions.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function change(path, set) {
  const value = JSON.parse(readFileSync(join(root, path), 'utf8'));
  set(value);
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}

/** Replaces the value after a name in a text file. */
function replace(path, name) {
  const text = readFileSync(join(root, path), 'utf8');
  if (!name.test(text)) throw new Error(`${path} has no version after ${name}.`);
  writeFileSync(
    join(root, path),
    text.replaceAll(name, (_all, before) => before + version),
  );
}

for (const { path, version: form } of CLIENT_VERSIONS)
  if (path.endsWith('.json')) change(path, (manifest) => (manifest.version = version));
  else replace(path, form);
{
  // The document contains the version in `info`, and in the example response in which the service describes itself.
  const document = join(root, 'docs/openapi.json');
  const text = readFileSync(document, 'utf8');
  writeFileSync(document, text.replaceAll(`"${JSON.parse(text).info.version}"`, `"${version}"`));
}

replace('deploy/chart/Chart.yaml', /^((?:version|appVersion): ).*/gm);
replace('deploy/kubernetes/kustomization.yaml', /^( *newTag: ).*/gm);
for (const name of readdirSync(join(root, 'test/fixtures/chart'))) {
  replace(`test/fixtures/chart/${name}`, /(app\.kubernetes\.io\/version: ")[^"]+/g);
  replace(`test/fixtures/chart/${name}`, /(helm\.sh\/chart: eligibility-)\S+/g);
  // The rendering with everything enabled names the image by its digest instead of its tag.
  if (name !== 'everything.yaml') replace(`test/fixtures/chart/${name}`, /(candidate-eligibility-service:)\S+/g);
}
