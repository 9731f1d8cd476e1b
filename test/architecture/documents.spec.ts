import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '../..');
const contract = readFileSync(join(root, 'docs/contract.md'), 'utf8');
const titles = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.e2e.ts'))
  .flatMap((name) => [
    ...readFileSync(join(root, 'test', name), 'utf8').matchAll(
      /(?:describe|it|test)(?:\.each\([^`'"]*?\))?\(\s*[`'"](§.+)/g,
    ),
  ])
  .map(([, title]) => title);

describe('docs/contract.md', () => {
  const sections = new Map(
    contract
      .split(/^## (?=\d+\. )/m)
      .slice(1)
      .map((section) => [Number.parseInt(section, 10), section]),
  );

  it('docs/contract.md has every section whose number a test cites in its title', () => {
    const cited = titles.map((title) => Number(/^§(\d+)/.exec(title)?.[1]));
    expect(cited.length).toBeGreaterThan(25);
    expect(cited.filter((number) => !sections.has(number))).toEqual([]);
  });

  it('docs/contract.md has a heading for each part of section 5 that a test title names', () => {
    const headings = [...(sections.get(5) ?? '').matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    const named = titles.flatMap((title) => /^§5 ([A-Z][A-Za-z-]+)/.exec(title)?.[1] ?? []);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !headings.includes(name) && name !== 'GET')).toEqual([]);
  });
});
