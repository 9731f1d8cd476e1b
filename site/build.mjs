// Builds the guide: the documents of this repository as static pages. The service serves them at /guide, and any web
// server can host them. Each page is also available as Markdown, and llms.txt lists them. usage: node site/build.mjs
// [FOLDER: dist/guide by default] The exit code is 1 if there is a dead link, a diagram that was not drawn, or a
// document that the outline lacks; the pages are built nevertheless.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeLook } from './look.mjs';
import { renderer } from './markdown.mjs';
import { OUTLINE } from './outline.mjs';
import { pageOf } from './page.mjs';
import { llmsText, markdownOfApi, markdownOfSource, markdownPage } from './plain.mjs';
import { apiPage } from './reference.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path) => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json'));

/**
 * Writes the guide into a folder, which is emptied first.
 *
 * @returns the faults of the documents, one per line
 */
export async function buildGuide(folder) {
  const decisions = readdirSync(join(root, 'docs/decisions'))
    .filter((name) => /^\d/.test(name))
    .map((name) => [
      read(`docs/decisions/${name}`).split('\n', 1)[0].replace(/^# /, ''),
      `docs/decisions/${name}`,
      `decisions/${name.replace(/\.md$/, '.html')}`,
    ]);
  const entries = [...OUTLINE.flatMap(([, some]) => some), ...decisions];
  const pages = new Map(entries.flatMap(([, source, page]) => (source === null ? [] : [[source, page]])));
  const missing = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .filter((name) => !pages.has(`docs/${name}`));

  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const render = renderer(root, pages);
  const made = entries
    .filter(([, , page]) => !page.includes('#'))
    .map(([title, source, page]) => {
      if (source === null)
        return {
          title,
          page,
          links: [],
          pictures: [],
          files: [],
          faults: [],
          ...apiPage(JSON.parse(read('docs/openapi.json'))),
          markdown: markdownOfApi(JSON.parse(read('docs/openapi.json'))),
        };
      const { html, env } = render(source, page, read(source));
      return { title, page, html, ...env, markdown: markdownOfSource(source, page, read(source), pages) };
    });

  const anchors = new Map(made.map(({ page, sections }) => [page, new Set(sections.map(({ anchor }) => anchor))]));
  const dead = made.flatMap(({ source, links }) =>
    links
      .filter(({ page, anchor }) => anchor !== '' && !anchors.get(page).has(anchor))
      .map(({ page, anchor }) => `${source} leads to ${page}#${anchor}, which is no heading.`),
  );

  const put = (path, content) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  for (const page of made) {
    put(page.page, pageOf({ ...page, version }));
    put(markdownPage(page.page), page.markdown);
    for (const name of page.pictures) put(`diagrams/${name}`, read(`docs/diagrams/${name}`));
    for (const path of page.files) put(`files/${path}`, readFileSync(join(root, path)));
  }
  put('llms.txt', llmsText(decisions));
  put(
    'search.json',
    JSON.stringify(
      made.flatMap(({ title, page, sections }) =>
        sections.map(({ heading, anchor, text }) => ({
          page: title,
          heading,
          address: `${page}#${anchor}`,
          text: text.join(' '),
        })),
      ),
    ),
  );
  cpSync(join(root, 'site/guide.css'), join(folder, 'guide.css'));
  writeLook(join(folder, 'look'));
  await build({
    entryPoints: [join(root, 'site/search.js')],
    outfile: join(folder, 'search.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
  });
  const strays = missing.map((name) => `docs/${name} is not in site/outline.mjs.`);
  return [...strays, ...made.flatMap(({ faults }) => faults), ...dead];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = await buildGuide(resolve(process.argv[2] ?? join(root, 'dist/guide')));
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
