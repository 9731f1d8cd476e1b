import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(__dirname, '../..');

// The time limit is long, because the tests build packages and the OpenAPI document.
jest.setTimeout(300_000);

/** A copy of the repository, in which a test plants a fault. */
let repository: string;

beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), 'eligibility-planted-'));
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of files.split('\0').filter(Boolean)) cpSync(join(root, file), join(repository, file));
  symlinkSync(join(root, 'node_modules'), join(repository, 'node_modules'));
  execFileSync('git', ['init', '--quiet'], { cwd: repository });
});
afterEach(() => rmSync(repository, { recursive: true }));

function edit(path: string, change: (text: string) => string): void {
  const text = readFileSync(join(repository, path), 'utf8');
  expect(change(text)).not.toBe(text);
  writeFileSync(join(repository, path), change(text));
}

function release(...options: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/release.mjs'), '--root', repository, '--dry-run', ...options],
    { encoding: 'utf8' },
  );
  return { status, stdout, stderr: stderr.trim() };
}

describe('the command of a release', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

  it('a dry run of a release sets the version from the newest changelog section, but only in a copy of the repository', () => {
    const before = readFileSync(join(repository, 'package.json'), 'utf8');
    edit('CHANGELOG.md', (text) => text.replace(/^## .*$/m, '## 7.8.9 (unreleased)'));
    const { status, stdout } = release('--only', 'versions,changelog,licence');
    expect([status, stdout]).toEqual([0, expect.stringContaining('versions: 7.8.9 in the service')]);
    expect(readFileSync(join(repository, 'package.json'), 'utf8')).toBe(before);
  });

  it('refuses a release when the Helm chart has a different version', () => {
    edit('deploy/chart/Chart.yaml', (text) => text.replace(/^appVersion: .*$/m, 'appVersion: 9.9.9'));
    expect(release(version, '--only', 'versions')).toMatchObject({
      status: 1,
      stderr: `deploy/chart/Chart.yaml has 9.9.9, and the release is ${version}.`,
    });
  });

  it.each([
    ['clients/php/composer.json', /("version": )"[^"]+"/],
    ['clients/python/pyproject.toml', /(version = )"[^"]+"/],
    ['clients/java/pom.xml', /( {2}<version>)[^<]+/],
  ])('refuses a release when %s of the partner kit has a different version', (path, place) => {
    edit(path, (text) => text.replace(place, path.endsWith('.xml') ? '$19.9.9' : '$1"9.9.9"'));
    expect(release(version, '--only', 'versions')).toMatchObject({
      status: 1,
      stderr: `${path} has 9.9.9, and the release is ${version}.`,
    });
  });

  it.each([
    ['for another release', '## 7.8.8 (2030-01-01)', 'CHANGELOG.md has no section 7.8.9.'],
    ['without a date', '## 7.8.9 (soon)', 'The section 7.8.9 of CHANGELOG.md has neither a date nor “unreleased”.'],
  ])('refuses a release when the changelog section is %s', (_name, heading, sentence) => {
    edit('CHANGELOG.md', (text) => text.replace(/^## .*$/m, heading));
    expect(release('7.8.9', '--only', 'changelog')).toMatchObject({ status: 1, stderr: sentence });
  });

  it('refuses a release when README.md does not say what the licence allows', () => {
    edit('README.md', (text) => text.replaceAll('`UNLICENSED`', ''));
    expect(release('--only', 'licence')).toMatchObject({
      status: 1,
      stderr: 'README.md does not say what the licence UNLICENSED allows.',
    });
  });

  it('refuses a release when a client package lacks a file that its manifest lists', () => {
    edit('clients/partner/package.json', (text) => text.replace(/^ *"vectors\.json",\n/m, ''));
    expect(release('--only', 'packages')).toMatchObject({
      status: 1,
      stderr: 'The package @candidate-eligibility/partner names vectors.json, which it does not contain.',
    });
  });

  it('refuses a release when docs/openapi.json does not match the code', () => {
    edit('docs/openapi.json', (text) => text.replace('"paths": {', '"paths": { "/planted": {},'));
    expect(release('--only', 'openapi')).toMatchObject({
      status: 1,
      stderr: 'docs/openapi.json is not current: npm run openapi',
    });
  });

  it('refuses to check only some parts of a release unless it is a dry run', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/release.mjs'), '--only', 'versions'], {
      encoding: 'utf8',
    });
    expect([status, stderr.trim()]).toEqual([1, 'A release needs every part: use --only with --dry-run.']);
  });
});
