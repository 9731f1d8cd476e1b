// Builds the packages of clients/, each as ES modules and as CommonJS with declarations, into clients/NAME/dist.
//
// usage: node scripts/build-clients.mjs [FOLDER: writes the whole packages there instead]
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import './client-types.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
/** The source of each program that a package has in `bin`. */
const PROGRAMS = { 'conformance.js': 'conformance/program.ts', 'program.js': 'program.ts' };
const [folder] = process.argv.slice(2);

// The kits in other languages have no package.json.
const packages = readdirSync(join(root, 'clients')).filter((name) =>
  existsSync(join(root, 'clients', name, 'package.json')),
);
for (const name of packages) {
  const source = join(root, 'clients', name);
  const target = folder === undefined ? source : join(resolve(folder), name);
  const dist = join(target, 'dist');
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const { files, bin = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  if (target !== source)
    for (const file of ['package.json', ...files.filter((file) => file !== 'dist')])
      cpSync(join(source, file), join(target, file));

  const options = { bundle: true, packages: 'external', platform: 'node', target: 'node20.19', logLevel: 'warning' };
  const entry = join(source, 'src/index.ts');
  await build({ ...options, entryPoints: [entry], outfile: join(dist, 'esm/index.js'), format: 'esm' });
  await build({ ...options, entryPoints: [entry], outfile: join(dist, 'cjs/index.js'), format: 'cjs' });
  for (const program of Object.values(bin))
    await build({
      ...options,
      entryPoints: [join(source, 'src', PROGRAMS[basename(program)])],
      outfile: join(target, program),
      format: 'cjs',
      banner: { js: '#!/usr/bin/env node' },
    });
  declare(entry, join(dist, 'esm'));
  // The ES modules and the CommonJS modules have the same declarations. The nearest package.json decides how TypeScript
  // reads them.
  cpSync(join(dist, 'esm'), join(dist, 'cjs'), { recursive: true, filter: (path) => !path.endsWith('.js') });
  writeFileSync(join(dist, 'esm/package.json'), '{ "type": "module" }\n');
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
}

function declare(entry, outDir) {
  const options = ['--declaration', '--emitDeclarationOnly', '--outDir', outDir, '--rootDir', dirname(entry)];
  const modules = [
    '--target',
    'es2023',
    '--lib',
    'es2023',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--types',
    'node',
  ];
  const { status } = spawnSync(
    process.execPath,
    [tsc, entry, '--ignoreConfig', '--strict', '--skipLibCheck', ...modules, ...options],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  if (status !== 0) throw new Error(`The declarations of ${entry} failed.`);
}
