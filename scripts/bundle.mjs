// Bundles the compiled service into dist/main.js: Node reads one file instead of 1,600, which makes it ready in two
// thirds of the time. Without this step dist/src/main.js does the same, a little later.
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

/** Keeps the names of classes and modules as they are outside the bundle, where many modules share one file and scope. */
const selfKnowledge = {
  name: 'self-knowledge',
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]js$/ }, async ({ path }) => ({ contents: ascii(await readFile(path, 'utf8')) }));
    onLoad({ filter: /\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: ascii(withNamedClasses(path.startsWith(dist) ? withFolder(text, path) : withRequire(text))) };
    });
  },
};

/** The folder of an own module, which finds files there. */
function withFolder(text, path) {
  const folder = JSON.stringify(relative(dist, dirname(path)).replaceAll('\\', '/'));
  return text.replaceAll('__dirname', `require('node:path').join(__dirname, ${folder})`);
}

/** ES modules of Nest fetch CommonJS by `createRequire`: a second copy, beside the one in the bundle. */
function withRequire(text) {
  return text.replaceAll('createRequire(import.meta.url)', 'require').replace('const require = require;', '');
}

/** esbuild renames what meets its own name in one scope; the log shows names of classes. */
function withNamedClasses(text) {
  return text.replace(
    /^(?:(?:let|const|var) \w+ = (?:\w+ = )?|export (?:default )?)?class (\w+)(?: extends [^\n{]+)? \{$/gm,
    '$& static { named(this, "$1"); }',
  );
}

/** V8 keeps two bytes for each character of a text that has one beyond Latin-1, as patterns of letters do: 13 MB. */
function ascii(text) {
  return text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

await build({
  entryPoints: [join(dist, 'src/main.js')],
  outfile: join(dist, 'main.js'),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // The text stays in memory; the message of a fault may contain a line of it.
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: 'linked',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [selfKnowledge],
  banner: { js: "const named = (made, name) => Object.defineProperty(made, 'name', { value: name });" },
  external: [
    // Native code, files that are served, and what TypeORM asks for by name.
    '@node-rs/argon2',
    'swagger-ui-dist',
    'pg',
    // Loaded only when spans are asked for.
    '@opentelemetry/*',
    // Parts of Nest and its friends that are not installed.
    '@fastify/*',
    '@nestjs/microservices',
    '@nestjs/websockets',
    'class-transformer/storage',
    'pg-native',
  ],
});
