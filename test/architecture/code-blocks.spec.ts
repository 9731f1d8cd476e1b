import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

/**
 * Every block of code in the documents is compiled by what would run it. Run as they stand are, besides: the walk of README.md and
 * the error queue of docs/operations.md (readme.e2e.ts), the receiver of docs/notifications.md (notifications-document.spec.ts), the
 * programs of the packages (typescript-client.e2e.ts, partner-package.e2e.ts), and the three walks (scripts/walk.mjs).
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

/** What is wrong with a block, null when nothing is. */
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
        transformSync(code, { loader: 'js' });
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

describe('the blocks of code in the documents', () => {
  it.each(documents)('%s: each is compiled', (document) => {
    const faults = blocksOf(readFileSync(join(root, document), 'utf8')).flatMap(({ language, code }) => {
      const fault = faultOf(language, code);
      return fault === null ? [] : [`${fault}\n${code}`];
    });
    expect(faults).toEqual([]);
  });

  it('are found broken when they are', () => {
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
