// The console as static files in dist/console: hashed files in assets/, named relative to the page, which the service
// completes (src/console/console.controller.ts).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants } from 'node:zlib';
import optimizeLocales from '@react-aria/optimize-locales-plugin';
import { defineConfig } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));

export default defineConfig({
  root: here,
  base: './',
  // Else a setting of the shell would decide which React is built.
  mode: 'production',
  logLevel: 'warn',
  plugins: [
    fieldRules(),
    { ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' },
    programAnnounced(),
    compressed(),
  ],
  build: {
    outDir: join(here, '../dist/console'),
    emptyOutDir: true,
    target: 'es2023',
    // A data: address would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // The common parts of several pages come with the first one: a telephone waits for each file, not for each byte.
          groups: [
            { name: 'first', test: isFirst, priority: 1 },
            { name: 'shared', test: isShared, minShareCount: 2 },
          ],
        },
      },
      checks: { pluginTimings: false },
      // The warning about each file that names "use client": there is no server that would render.
      onwarn: (warning, tell) => warning.code !== 'MODULE_LEVEL_DIRECTIVE' && tell(warning),
    },
  },
});

/** The code that asks who is signed in. */
function isFirst(id) {
  return /src\/(main|api\/(session|store|problem|root))\.ts$|node_modules\/react\/|preload-helper/.test(id);
}

/** All but pages, and what is large and not needed by all of them. */
function isShared(id) {
  const isLarge = /react-aria|react-stately|@internationalized|uplot|-table\/|table-core|virtual:/.test(id);
  return (
    !isLarge && !/-page\.tsx|dialog|(components\/(list|table|form|csv|chart-canvas)|\/columns)[^/]*\.tsx?$/.test(id)
  );
}

/** The rules of request bodies, as the OpenAPI document states them. */
function fieldRules() {
  const name = 'virtual:field-rules';
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : undefined),
    load(id) {
      if (id !== `\0${name}`) return undefined;
      const { components } = JSON.parse(readFileSync(join(here, '../docs/openapi.json'), 'utf8'));
      return `export default ${JSON.stringify(components.schemas)}`;
    },
  };
}

/** The page names the program too, which its first script loads. */
function programAnnounced() {
  return {
    name: 'program-announced',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        const program = Object.values(bundle).find(
          ({ facadeModuleId }) => facadeModuleId === join(here, 'src/app.tsx'),
        );
        const scripts = [program.fileName, ...program.imports];
        const styles = scripts.flatMap((name) => [...bundle[name].viteMetadata.importedCss]);
        return [...scripts, ...styles]
          .filter((name) => !html.includes(name))
          .map((name) => ({
            tag: 'link',
            attrs: { rel: name.endsWith('.js') ? 'modulepreload' : 'stylesheet', crossorigin: true, href: `./${name}` },
            injectTo: 'head',
          }));
      },
    },
  };
}

/** Files that compress well are written a second time, compressed, so that no request waits for it. */
function compressed() {
  return {
    name: 'compressed',
    // Of what was written: until then other plugins still change it.
    writeBundle({ dir }, bundle) {
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
      for (const name of Object.keys(bundle).filter((name) => /\.(js|css|svg)$/.test(name)))
        writeFileSync(join(dir, `${name}.br`), brotliCompressSync(readFileSync(join(dir, name)), { params }));
    },
  };
}
