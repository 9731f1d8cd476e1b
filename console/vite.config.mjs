// Builds the console as static files in dist/console. Paths to the hashed files in assets/ are relative to the page;
// the service completes them (src/console/console.controller.ts).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import optimizeLocales from '@react-aria/optimize-locales-plugin';
import { defineConfig } from 'vite';
import { writeLook } from '../site/look.mjs';

/** The component library, which only dialogs and menus use. */
const OVERLAYS = /react-aria|react-stately|@internationalized/;

const here = dirname(fileURLToPath(import.meta.url));

export default defineConfig({
  root: here,
  base: './',
  // Without this line, an environment variable of the shell would decide which build of React is used.
  mode: 'production',
  logLevel: 'warn',
  plugins: [
    fieldRules(),
    { ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' },
    programAnnounced(),
    compressed(),
    lookWritten(),
  ],
  build: {
    outDir: join(here, '../dist/console'),
    emptyOutDir: true,
    target: 'es2023',
    // A `data:` address would require a weaker content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The shared code of all pages is larger than the 500 kB of Vite's warning.
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Code that several pages share is loaded with the first page, because on a slow network each file costs more
          // than its bytes. A group also contains everything that its modules import. React and the component library are
          // therefore groups of a higher priority.
          groups: [
            { name: 'first', test: isFirst, priority: 2 },
            { name: 'react', test: /node_modules\/(react-dom|scheduler|use-sync-external-store)\//, priority: 2 },
            { name: 'overlays', test: OVERLAYS, priority: 1 },
            { name: (id, bundle) => (isShared(id, bundle) ? 'shared' : null), minShareCount: 2 },
          ],
        },
      },
      checks: { pluginTimings: false },
      // Ignores the warning about each file with "use client", because nothing is rendered on a server.
      onwarn: (warning, tell) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && tell(warning),
    },
  },
});

/** Returns whether a module belongs to the code that requests the signed-in user. */
function isFirst(id) {
  return /src\/(main|api\/(session|early|store|problem|root))\.ts$|node_modules\/react\/|preload-helper/.test(id);
}

/**
 * Returns whether a module belongs to the shared code. Pages do not, and neither do parts that only some pages use, such
 * as dialogs.
 */
function isShared(id, bundle) {
  return !isOfSomePages(id) && !needsLargePart(id, bundle);
}

const isOfSomePages = (id) =>
  /-table\/|table-core|-page\.tsx|dialog|(components\/(list|table|form|csv|chart)|\/columns)[^/]*\.tsx?$/.test(id);

const needs = new Map();

/** Returns whether a module imports the component library or the rules of forms, directly or through other modules. */
function needsLargePart(id, bundle) {
  if (OVERLAYS.test(id) || /virtual:/.test(id)) return true;
  // A circular import does not need a large part by itself.
  if (!needs.has(id)) {
    needs.set(id, false);
    needs.set(id, bundle.getModuleInfo(id)?.importedIds.some((imported) => needsLargePart(imported, bundle)) ?? false);
  }
  return needs.get(id);
}

/** Provides the schemas of all request bodies from the OpenAPI document. */
function fieldRules() {
  const name = 'virtual:field-rules';
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const { components, paths } = JSON.parse(readFileSync(join(here, '../docs/openapi.json'), 'utf8'));
      const bodies = Object.values(paths).flatMap((path) => Object.values(path).map(({ requestBody }) => requestBody));
      return `export default ${JSON.stringify(schemasIn(bodies, components.schemas))}`;
    },
  };
}

/** Returns the schemas to which a part of the OpenAPI document refers, directly or through other schemas. */
function schemasIn(part, schemas, found = {}) {
  const names = JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g);
  for (const [, name] of names) {
    if (name in found) continue;
    found[name] = schemas[name];
    schemasIn(schemas[name], schemas, found);
  }
  return found;
}

/** Makes the page preload the program, which its first script imports, and the font of the Latin alphabet. */
function programAnnounced() {
  return {
    name: 'program-announced',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        const program = Object.values(bundle).find(
          ({ facadeModuleId }) => facadeModuleId === join(here, 'src/app.tsx'),
        );
        const font = Object.keys(bundle).find((name) => /geist-latin-wght-normal[^/]*\.woff2$/.test(name));
        const scripts = [program.fileName, ...program.imports];
        const styles = scripts.flatMap((name) => [...bundle[name].viteMetadata.importedCss]);
        const links = [...scripts, ...styles]
          .filter((name) => !html.includes(name))
          .map((name) => ({ rel: name.endsWith('.js') ? 'modulepreload' : 'stylesheet', href: `./${name}` }));
        // The font is loaded with the program, so that no text moves when the font arrives.
        return [...links, { rel: 'preload', as: 'font', type: 'font/woff2', href: `./${font}` }].map((attrs) => ({
          tag: 'link',
          attrs: { ...attrs, crossorigin: true },
          injectTo: 'head',
        }));
      },
    },
  };
}

/** Also writes files that compress well in compressed form, so that no request waits for compression. */
function compressed() {
  return {
    name: 'compressed',
    // This hook reads the written files, because other plugins change them until then.
    writeBundle({ dir }, bundle) {
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
      for (const name of Object.keys(bundle).filter((name) => /\.(js|css|svg)$/.test(name)))
        writeFileSync(join(dir, `${name}.br`), brotliCompressSync(readFileSync(join(dir, name)), { params }));
    },
  };
}

/** Also writes the style sheets and the fonts of the HTML pages that the service renders itself. */
function lookWritten() {
  return { name: 'look-written', writeBundle: ({ dir }) => writeLook(join(dir, 'look')) };
}
