// Bundles the compiled service into dist/main.js: Node reads one file instead of 1,600, which shortens the start by a
// third. Without this step dist/src/main.js works as well.
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

/**
 * An esbuild plugin that keeps the names of classes and the folders of modules, although many modules share one file
 * and scope in the bundle.
 */
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

/** Keeps the path of the module's own folder, for a module that reads files next to it. */
function withFolder(text, path) {
  const folder = JSON.stringify(relative(dist, dirname(path)).replaceAll('\\', '/'));
  return text.replaceAll('__dirname', `require('node:path').join(__dirname, ${folder})`);
}

/**
 * Replaces `createRequire` in Nest's ES modules: it would load a second copy of a CommonJS module that the bundle
 * already contains.
 */
function withRequire(text) {
  return text.replaceAll('createRequire(import.meta.url)', 'require').replace('const require = require;', '');
}

/** Keeps the names of classes, which the log shows: esbuild renames classes with the same name in one scope. */
function withNamedClasses(text) {
  return text.replace(
    /^(?:(?:let|const|var) \w+ = (?:\w+ = )?|export (?:default )?)?class (\w+)(?: extends [^\n{]+)? \{$/gm,
    '$& static { named(this, "$1"); }',
  );
}

/**
 * Escapes characters beyond Latin-1. If the bundle contained one, V8 would need two bytes for each of its characters,
 * 13 MB in total.
 */
function ascii(text) {
  return text.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

await build({
  entryPoints: [join(dist, 'src/main.js')],
  outfile: join(dist, 'main.js'),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  // Smaller text saves memory. Short lines are kept, because an error message may quote a whole line.
  minifyWhitespace: true,
  lineLimit: 200,
  legalComments: 'linked',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [selfKnowledge],
  banner: { js: "const named = (made, name) => Object.defineProperty(made, 'name', { value: name });" },
  external: [
    // These packages contain native code, files to serve, or modules that TypeORM loads by name.
    '@node-rs/argon2',
    'swagger-ui-dist',
    'pg',
    // These packages are loaded only when tracing is enabled.
    '@opentelemetry/*',
    // These are optional dependencies of Nest and other packages, which are not installed.
    '@fastify/*',
    '@nestjs/microservices',
    '@nestjs/websockets',
    'class-transformer/storage',
    'pg-native',
  ],
});
