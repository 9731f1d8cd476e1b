// Draws the new diagrams of the documents into docs/diagrams, and deletes pictures that no document uses any more.
// usage: npm install --prefix tools/diagrams && npm run draw --prefix tools/diagrams It uses the browser of the tests
// (`npx jest swagger-ui` unpacks it).
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pictureOf } from '../../site/markdown.mjs';
import { OUTLINE } from '../../site/outline.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const folder = join(root, 'docs/diagrams');
const modules = join(root, 'node_modules');
const { chromium } = createRequire(join(root, 'package.json'))('playwright-core');
const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz/chromium/package.json'), 'utf8'));
const home = join(modules, '.cache', `chromium-${version}`);

const diagrams = new Map(
  OUTLINE.flatMap(([, entries]) => entries)
    .filter(([, source]) => source !== null)
    .flatMap(([, source]) => [...readFileSync(join(root, source), 'utf8').matchAll(/^```mermaid\n([^]*?)^```$/gm)])
    .map(([, text]) => [pictureOf(text), text]),
);
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (!diagrams.has(name)) rmSync(join(folder, name));
const wanted = [...diagrams].filter(([name]) => !existsSync(join(folder, name)));

const browser = await chromium.launch({
  executablePath: join(home, 'chromium'),
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  env: { HOME: home, LD_LIBRARY_PATH: join(home, 'al2023/lib'), FONTCONFIG_FILE: join(home, 'fonts.conf') },
});
const page = await browser.newPage();
await page.addScriptTag({ path: join(here, 'node_modules/mermaid/dist/mermaid.min.js') });
for (const [name, text] of wanted) {
  const svg = await page.evaluate(async (source) => {
    // Labels are SVG text, because a picture in an <img> element cannot contain HTML.
    const plain = { htmlLabels: false };
    globalThis.mermaid.initialize({
      startOnLoad: false,
      theme: 'neutral',
      ...plain,
      flowchart: plain,
      state: plain,
      er: plain,
    });
    return (await globalThis.mermaid.render('diagram', source)).svg;
  }, text);
  writeFileSync(join(folder, name), svg);
  console.log(name);
}
await browser.close();
