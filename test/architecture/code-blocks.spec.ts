import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

/**
 * These tests compile every code block of the documents for its language. Each block that can run on this machine is
 * also run, unchanged.
 */
const root = join(__dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(root, 'clients'))
    .map((name) => `clients/${name}/README.md`)
    .filter((name) => existsSync(join(root, name))),
];

/**
 * Maps each section of the documents that contains code to the test that runs the code. If no test runs the code, maps
 * the section to the reason.
 */
const RUN_BY: Record<string, string> = {
  'README.md: Start': 'test/guide/readme.e2e.ts',
  'README.md: A walk-through': 'test/guide/readme.e2e.ts',
  'docs/clients.md: From a token to the change feed': 'scripts/walk.mjs',
  'docs/clients.md: A generated client': 'tools/openapi/check.mjs',
  'docs/import.md: Import a file': 'test/guide/documents.e2e.ts',
  'docs/install.md: From nothing to the first event': 'scripts/walk.mjs',
  'docs/notifications.md: The request': 'test/guide/documents.e2e.ts',
  'docs/notifications.md: Poll': 'test/guide/documents.e2e.ts',
  'docs/notifications.md: Catch up after an outage': 'test/guide/documents.e2e.ts',
  'docs/notifications.md: Verify the signature': 'test/architecture/notifications-document.spec.ts',
  'docs/oauth.md: The token service': 'test/guide/documents.e2e.ts',
  'docs/oauth.md: Programs without a user': 'test/guide/documents.e2e.ts',
  'docs/operations.md: Alerts': 'test/alerts/alerts.e2e.ts',
  'docs/operations.md: The error queue': 'test/guide/readme.e2e.ts',
  'docs/operations.md: Keys': 'test/guide/documents.e2e.ts',
  'docs/sandbox.md: A clock that can be moved': 'test/guide/documents.e2e.ts',
  'docs/sandbox.md: An event for a booking': 'test/guide/documents.e2e.ts',
  'docs/sandbox.md: The partner of the sandbox': 'test/guide/documents.e2e.ts',
  'docs/test-drivers.md: By registration': 'test/guide/documents.e2e.ts',
  'docs/test-drivers.md: By account and candidate': 'test/guide/documents.e2e.ts',
  'docs/upgrade.md: Steps': 'test/guide/documents.e2e.ts',
  'clients/partner/README.md: From nothing to verified': 'scripts/walk.mjs',
  'clients/partner/README.md: With PostgreSQL, under Express': 'test/notifications/partner-package.e2e.ts',
  'clients/partner/README.md: Under Fastify': 'test/notifications/partner-package.e2e.ts',
  'clients/partner/README.md: Catching up': 'test/notifications/partner-package.e2e.ts',
  'clients/typescript/README.md: @candidate-eligibility/client': 'test/guide/typescript-client.e2e.ts',
};
const KITS = ['python', 'php', 'go', 'java'];
for (const kit of KITS) RUN_BY[`clients/${kit}/README.md: From nothing to verified`] = 'scripts/walk.mjs';
const NOT_RUN: Record<string, string> = {
  'clients/partner/README.md: Poll and heal': 'the secrets are not real: scripts/kits.mjs runs the same commands',
  ...Object.fromEntries(
    KITS.flatMap((kit) =>
      ['Test your receiver', 'Poll and heal'].map((section) => [
        `clients/${kit}/README.md: ${section}`,
        'the secrets are not real: scripts/kits.mjs runs the same commands',
      ]),
    ),
  ),
  'docs/install.md: With Docker': 'there is no engine of containers in CI',
  'docs/install.md: With systemd': 'no systemd runs in CI: scripts/shipped.mjs starts what the units start',
  'README.md: Tests and checks': 'what CI is',
  'CONTRIBUTING.md: Develop': 'what CI is, line by line; the second never ends',
  'docs/delivery.md: The model': 'a step of CI; with mutations in test/proof/model/delivery.model.spec.ts',
  'docs/scaling.md: On Kubernetes': 'there is no cluster in CI: scripts/helm.mjs renders what it would be given',
  'docs/scaling.md: The image': 'CI reaches no registry of images, whose answer the command prints',
  'docs/scaling.md: On one machine': 'there is no engine of containers in CI: the drill starts what is in them',
  'docs/notifications.md: Kits, and a test of your endpoint':
    'the walk of the package runs it at an address that exists',
  'docs/notifications.md: Find and heal omissions':
    'a body with made-up values: test/notifications/digest.e2e.ts reads such',
  'docs/install.md: Five minutes': 'the first lines of README.md',
};

/** Returns the error in a block of code; null if the block is valid. */
function faultOf(language: string, code: string): string | null {
  try {
    switch (language) {
      case 'sh': {
        const { status, stderr } = spawnSync('sh', ['-n'], { input: code, encoding: 'utf8' });
        if (status !== 0) return stderr;
        const unknown = [...code.matchAll(/npm run (?:--silent )?([a-z:-]+)/g)].filter(
          ([, name]) => !(name in scripts),
        );
        return unknown.length === 0 ? null : `no such script: ${unknown.map(([, name]) => name).join()}`;
      }
      case 'js':
      case 'ts':
        transformSync(code, { loader: language });
        return null;
      case 'json':
        JSON.parse(code);
        return null;
      case 'http': {
        const [first, ...headers] = code.trim().split('\n');
        const right =
          /^(GET|POST|PUT|PATCH|DELETE) \S+$/.test(first) && headers.every((line) => /^[\w-]+: \S/.test(line));
        return right ? null : 'no request';
      }
      case 'mermaid': {
        const name = `${createHash('sha256').update(code.trim()).digest('hex').slice(0, 16)}.svg`;
        return existsSync(join(root, 'docs/diagrams', name)) ? null : 'not drawn: npm run draw --prefix tools/diagrams';
      }
      default:
        return `nobody compiles “${language}”`;
    }
  } catch (error) {
    return (error as Error).message;
  }
}

const blocksOf = (text: string) =>
  [...text.matchAll(/^( *)```([^\n]*)\n([^]*?)^\1```$/gm)].map(([, indent, info, code]) => ({
    language: info.split(' ')[0],
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** Returns the sections of a document that contain a code block other than a diagram, each as `document: heading`. */
function sectionsOf(document: string): string[] {
  const sections = new Set<string>();
  let section = '';
  for (const [line, , heading] of readFileSync(join(root, document), 'utf8').matchAll(/^(#+ (.*)| *```\w.*)$/gm))
    if (heading !== undefined) section = heading;
    else if (!line.includes('mermaid')) sections.add(`${document}: ${section}`);
  return [...sections];
}

describe('the blocks of code in the documents', () => {
  it.each(documents)('every block of code in the document %s compiles', (document) => {
    const faults = blocksOf(readFileSync(join(root, document), 'utf8')).flatMap(({ language, code }) => {
      const fault = faultOf(language, code);
      return fault === null ? [] : [`${fault}\n${code}`];
    });
    expect(faults).toEqual([]);
  });

  it('every document section with code has a program that runs the code, or a stated reason why none does', () => {
    const sections = documents.flatMap(sectionsOf);
    expect(sections.length).toBeGreaterThan(25);
    expect([...Object.keys(RUN_BY), ...Object.keys(NOT_RUN)].sort()).toEqual(sections.sort());
    for (const [section, program] of Object.entries(RUN_BY)) {
      const [document] = section.split(': ');
      expect([section, readFileSync(join(root, program), 'utf8').includes(document)]).toEqual([section, true]);
    }
  });

  it('the check of the documents reports broken code blocks', () => {
    for (const [language, code] of [
      ['sh', 'if true; then'],
      ['sh', 'npm run nothing'],
      ['js', 'const = 1'],
      ['json', '{'],
      ['http', 'FETCH /x'],
      ['mermaid', 'graph TD; A-->NOBODY'],
      ['', 'text'],
    ])
      expect([code, faultOf(language, code) !== null]).toEqual([code, true]);
    expect(blocksOf('1. x\n\n   ```sh\n   true\n   ```\n')).toEqual([{ language: 'sh', code: 'true\n' }]);
  });
});
