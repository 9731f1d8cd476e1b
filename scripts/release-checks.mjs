// Contains those release checks that only read files (release.mjs). Each check returns its faults as sentences.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_VERSIONS } from './client-versions.mjs';

const manifestOf = (...path) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'));

/**
 * Checks that each file that contains the release's version contains the given version. version.mjs writes these files.
 */
export function versionFaults(root, version) {
  const text = (path) => readFileSync(join(root, path), 'utf8');
  const json = (path) => JSON.parse(text(path));
  const places = [
    ['package.json', [json('package.json').version]],
    ['package-lock.json', [json('package-lock.json').version, json('package-lock.json').packages[''].version]],
    ['docs/openapi.json', [json('docs/openapi.json').info.version]],
    ...CLIENT_VERSIONS.filter(({ version: form }) => form === undefined).map(({ path }) => [
      path,
      [json(path).version],
    ]),
    ...[
      ['clients/python/pyproject.toml', /^version = "([^"]+)"$/gm, 1],
      ['clients/java/pom.xml', /^ {2}<version>([^<]+)<\/version>$/gm, 1],
      ['deploy/chart/Chart.yaml', /^(?:version|appVersion): "?([^"\n]+)"?$/gm, 2],
      ['deploy/kubernetes/kustomization.yaml', /^ *newTag: (.+)$/gm, 1],
    ].map(([path, name, count]) => {
      const found = [...text(path).matchAll(name)].map(([, value]) => value);
      return [path, found.length === count ? found : [`only ${found.length} of ${count} versions`]];
    }),
  ];
  return places.flatMap(([path, found]) =>
    found.filter((value) => value !== version).map((value) => `${path} has ${value}, and the release is ${version}.`),
  );
}

/** Returns the version, the date and the text of each section of the changelog, the newest first. */
export function sectionsOf(changelog) {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [, version, date] = /^(\S+) \((.+)\)/.exec(section) ?? [null, section.split('\n')[0], ''];
      return { version, date, entries: [...section.matchAll(/^- /gm)].length };
    });
}

export function changelogFaults(changelog, version) {
  const section = sectionsOf(changelog).find((one) => one.version === version);
  if (!section) return [`CHANGELOG.md has no section ${version}.`];
  if (section.entries === 0) return [`The section ${version} of CHANGELOG.md has no entry.`];
  return /^(?:unreleased|\d{4}-\d\d-\d\d)$/.test(section.date)
    ? []
    : [`The section ${version} of CHANGELOG.md has neither a date nor “unreleased”.`];
}

/** Checks that a line of the README states what the licence in package.json allows. */
export function licenceFaults(root) {
  const { license } = manifestOf(root);
  const isThere = readFileSync(join(root, 'README.md'), 'utf8').includes(`\`${license}\``);
  return isThere ? [] : [`README.md does not say what the licence ${license} allows.`];
}

/** Checks that a packed package has every file that its manifest names. */
export function packageFaults(manifest, packed) {
  const { name, files, main, types, bin = {}, exports = {} } = manifest;
  const named = new Set();
  const add = (target) => {
    if (typeof target === 'string') named.add(target.replace(/^\.\//, ''));
    else for (const one of Object.values(target ?? {})) add(one);
  };
  for (const target of [main, types, bin, exports]) add(target);
  return [
    ...[...named].filter((file) => !packed.includes(file)),
    ...files.filter((file) => !packed.some((one) => one === file || one.startsWith(`${file}/`))),
  ].map((file) => `The package ${name} names ${file}, which it does not contain.`);
}
