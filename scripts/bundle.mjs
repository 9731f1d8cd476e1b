// Bundles the compiled service into dist/main.js: Node reads one file in place of 1,600, which makes it ready in two
// thirds of the time. Without this step dist/src/main.js does the same, a little later.
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');

/** Own files beside a module are found where they were: the bundle lies somewhere else than its modules. */
const ownFolders = {
  name: 'own-folders',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]dist[\\/]src[\\/].+\.js$/ }, async ({ path }) => {
      if (!path.startsWith(dist)) return undefined;
      const folder = JSON.stringify(relative(dist, dirname(path)).replaceAll('\\', '/'));
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('__dirname', `require('node:path').join(__dirname, ${folder})`) };
    });
  },
};

/**
 * Nest is written in ES modules. What they fetch through `createRequire` would stay outside, a second time beside what
 * is inside; and in the one scope that they come to share their classes would be renamed, which Nest's log shows.
 */
const nestModules = {
  name: 'nest-modules',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/]@nestjs[\\/].+\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return {
        contents: text
          .replaceAll('createRequire(import.meta.url)', 'require')
          .replace('const require = require;', '')
          .replace(/^(?:let \w+ = (?:\w+ = )?|export )?class (\w+)[^{]*\{/gm, '$& static { named(this, "$1"); }'),
      };
    });
  },
};

await build({
  entryPoints: [join(dist, 'src/main.js')],
  outfile: join(dist, 'main.js'),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  plugins: [ownFolders, nestModules],
  banner: { js: "const named = (made, name) => Object.defineProperty(made, 'name', { value: name });" },
  external: [
    // Native code, files that are served, and what TypeORM asks for by name.
    '@node-rs/argon2',
    'swagger-ui-dist',
    'pg',
    // Parts of Nest and its friends that are not installed.
    '@fastify/*',
    '@nestjs/microservices',
    '@nestjs/websockets',
    'class-transformer/storage',
    'pg-native',
  ],
});
