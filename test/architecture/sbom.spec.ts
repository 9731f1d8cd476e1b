import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(__dirname, '../..');
const manifest = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<
    string,
    Record<string, string> | undefined
  > & {
    name: string;
    version: string;
  };

/**
 * Returns the directory of a package that another package imports, as Node would find it; null if it is not installed.
 */
function found(name: string, from: string): string | null {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name);
    if (existsSync(join(place, 'package.json'))) return place;
  }
  return null;
}

/** Finds the packages that the service needs at run time, by following its dependencies through node_modules. */
function running(): Set<string> {
  const seen = new Set([root]);
  for (const folder of seen) {
    const { dependencies = {}, optionalDependencies = {} } = manifest(folder);
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = found(name, folder);
      if (place) seen.add(place);
    }
  }
  seen.delete(root);
  return new Set([...seen].map((folder) => `${manifest(folder).name}@${manifest(folder).version}`));
}

it('the bill of materials lists every package of the running service, each with an allowed licence', () => {
  execFileSync(process.execPath, [join(root, 'scripts/sbom.mjs')], { cwd: root });
  const { components } = JSON.parse(readFileSync(join(root, 'dist/sbom.cdx.json'), 'utf8')) as {
    components: { 'bom-ref': string }[];
  };
  const listed = new Set(components.map((component) => component['bom-ref']));
  const packages = [...running()];
  expect(packages.length).toBeGreaterThan(150);
  expect(packages.filter((name) => !listed.has(name))).toEqual([]);
  // The image contains the typescript package. It is installed for development, and is an optional peer dependency of a
  // runtime package.
  expect(listed).toContain(`typescript@${manifest(join(root, 'node_modules/typescript')).version}`);
});
