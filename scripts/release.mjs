// Builds and checks a release in a copy of the repository:
//
// npm run release -- [VERSION] [--dry-run] [--only PART,…]
//
// By default, VERSION is the version of the newest section in CHANGELOG.md. If all checks pass, the script writes the
// version, the date in the changelog and the database fixture into the repository, except with --dry-run. The
// maintainers create the tag. The artifacts are in dist/release.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contextFiles } from './image-context.mjs';
import { changelogFaults, licenceFaults, packageFaults, sectionsOf, versionFaults } from './release-checks.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'dry-run': { type: 'boolean', default: false }, only: { type: 'string' }, root: { type: 'string' } },
});
const root = values.root ?? dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'eligibility-release-'));
const copy = join(folder, 'repository');
const made = join(folder, 'release');
mkdirSync(made);

/** The exit code of advisories.mjs when the registry gives no report. */
const NOT_CHECKED = 75;

class Fault extends Error {}

/** Runs a program in the copy, and returns its output. */
function run(program, args, { cwd = copy, fault = `${program} ${args.join(' ')} failed.` } = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Fault(`${fault}\n${stdout}${stderr}`.trimEnd());
  return stdout;
}

function expectNone(faults) {
  if (faults.length > 0) throw new Fault(faults.join('\n'));
}

function makeCopy() {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of files.split('\0').filter((one) => one !== '' && existsSync(join(root, one))))
    cpSync(join(root, file), join(copy, file));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  run('git', ['init', '--quiet']);
  run('git', ['add', '--all']);
}

const read = (path) => readFileSync(join(copy, path), 'utf8');

function setVersion(version) {
  if (JSON.parse(read('package.json')).version !== version)
    run('npm', ['version', version, '--no-git-tag-version', '--silent']);
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(
    join(copy, 'CHANGELOG.md'),
    read('CHANGELOG.md').replace(`## ${version} (unreleased)`, `## ${version} (${today})`),
  );
}

/** Builds and packs the packages, and uses them in a project that has no other dependencies. */
function checkPackages() {
  const [built, project] = [join(folder, 'packages'), join(folder, 'project')];
  run('node', ['scripts/build-clients.mjs', built]);
  const manifests = readdirSync(built).map((name) =>
    JSON.parse(readFileSync(join(built, name, 'package.json'), 'utf8')),
  );
  const archives = readdirSync(built).map((name, index) => {
    const pack = ['pack', '--json', '--pack-destination', made];
    const [{ filename, files }] = JSON.parse(run('npm', pack, { cwd: join(built, name) }));
    const packed = files.map(({ path }) => path);
    expectNone(packageFaults(manifests[index], packed));
    return join(made, filename);
  });
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }\n');
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...archives], { cwd: project });
  for (const { name } of manifests)
    for (const [type, load] of [
      ['module', `const it = await import('${name}')`],
      ['commonjs', `const it = require('${name}')`],
    ])
      run('node', [`--input-type=${type}`, '--eval', `${load}; if (Object.keys(it).length === 0) process.exit(1)`], {
        cwd: project,
        fault: `The installed package ${name} cannot be loaded as ${type}.`,
      });
  return `${manifests.map(({ name }) => name).join(', ')}: packed, installed and loaded both ways`;
}

function checkDocument() {
  const before = read('docs/openapi.json');
  run('npm', ['run', '--silent', 'openapi']);
  if (read('docs/openapi.json') !== before) throw new Fault('docs/openapi.json is not current: npm run openapi');
  cpSync(join(copy, 'docs/openapi.json'), join(made, 'openapi.json'));
  return 'docs/openapi.json is current';
}

/** Writes the build context to an archive, and runs the Dockerfile's steps with it. */
function checkImage(version) {
  const list = join(folder, 'context');
  writeFileSync(list, contextFiles(copy).sort().join('\n'));
  const options = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--files-from', list];
  run('tar', ['-czf', join(made, `image-context-${version}.tar.gz`), ...options]);
  run('npm', ['run', '--silent', 'build']);
  return run('node', ['scripts/shipped.mjs']).trim().split('\n').at(-1);
}

/**
 * Writes the database fixture from which later releases test their upgrade, and tests the fixture. Also writes the
 * hashes of the migrations.
 */
function checkFixture(version) {
  const path = `test/fixtures/${version}.json.gz`;
  run('npx', ['jest', '--config', 'test/fixtures/jest.config.cjs']);
  run('npx', ['jest', '--selectProjects', 'e2e', '--testPathPatterns', 'platform/upgrade.e2e']);
  cpSync(join(copy, path), join(made, `fixture-${version}.json.gz`));
  const migrations = join(copy, 'src/migrations');
  const line = (file) =>
    `${createHash('sha256')
      .update(readFileSync(join(migrations, file)))
      .digest('hex')}  ${file}\n`;
  writeFileSync(join(copy, 'test/fixtures/released-migrations.txt'), readdirSync(migrations).sort().map(line).join(''));
  return `${path}, restored and used by this release`;
}

/** Asks the registry for advisories. If the registry gives no report, the script says so, but does not fail. */
function checkAdvisories() {
  const { status, stdout, stderr } = spawnSync('node', ['scripts/advisories.mjs'], { cwd: copy, encoding: 'utf8' });
  if (status !== 0 && status !== NOT_CHECKED) throw new Fault(`${stdout}${stderr}`.trim());
  return stdout.trim();
}

const PARTS = {
  versions: (version) => {
    expectNone(versionFaults(copy, version));
    return `${version} in the service, the packages, the chart and the document`;
  },
  changelog: (version) => {
    expectNone(changelogFaults(read('CHANGELOG.md'), version));
    return `has the section ${version}`;
  },
  licence: () => {
    expectNone(licenceFaults(copy));
    return 'answered in the README';
  },
  advisories: checkAdvisories,
  sbom: () => {
    const answer = run('npm', ['run', '--silent', 'sbom']);
    cpSync(join(copy, 'dist/sbom.cdx.json'), join(made, 'sbom.cdx.json'));
    return answer.trim();
  },
  packages: checkPackages,
  openapi: checkDocument,
  chart: () => run('node', ['scripts/helm.mjs', '--package', made]).trim(),
  image: checkImage,
  fixture: checkFixture,
};

/** Copies the files that the release has changed into the repository. */
function keep(version) {
  const changed = run('git', ['diff', '--name-only', '-z']).split('\0').filter(Boolean);
  for (const file of [...changed, `test/fixtures/${version}.json.gz`])
    if (existsSync(join(copy, file))) cpSync(join(copy, file), join(root, file));
  return changed.length;
}

function report() {
  const target = join(root, 'dist/release');
  rmSync(target, { recursive: true, force: true });
  cpSync(made, target, { recursive: true });
  for (const name of readdirSync(made).sort()) {
    const bytes = readFileSync(join(made, name));
    const digest = createHash('sha256').update(bytes).digest('hex');
    console.log(`${String(bytes.length).padStart(10)}  sha256:${digest}  dist/release/${name}`);
  }
}

try {
  makeCopy();
  const version = positionals[0] ?? sectionsOf(read('CHANGELOG.md'))[0]?.version;
  const parts = values.only?.split(',') ?? Object.keys(PARTS);
  const unknown = parts.filter((name) => !(name in PARTS));
  if (unknown.length > 0) throw new Fault(`There is no part ${unknown.join(', ')}: ${Object.keys(PARTS).join(', ')}.`);
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Fault(`${version} is not a version such as 1.2.3.`);
  if (values.only && !values['dry-run']) throw new Fault('A release needs every part: use --only with --dry-run.');
  setVersion(version);
  for (const name of parts) console.log(`${name}: ${PARTS[name](version)}`);
  report();
  console.log(
    values['dry-run']
      ? `${version} could be released; nothing was changed.`
      : `${keep(version)} files have the release ${version}. Commit them, and tag the commit v${version}.`,
  );
} catch (error) {
  if (!(error instanceof Fault)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
