import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { KEYED_POSTS } from '../src/repeating-fetch';

const ROOT = resolve(__dirname, '../../..');
const { paths } = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as {
  paths: Record<string, { post?: { parameters?: { name?: string; $ref?: string }[] } }>;
};

describe('the client’s package', () => {
  it('the TypeScript client, the partner package, the service and the OpenAPI document have the same version', () => {
    const versionOf = (path: string) => {
      const { version, info } = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as {
        version?: string;
        info?: { version: string };
      };
      return version ?? info?.version;
    };
    const files = ['clients/typescript/package.json', 'clients/partner/package.json', 'docs/openapi.json'];
    for (const file of [...files, 'package-lock.json'])
      expect([file, versionOf(file)]).toEqual([file, versionOf('package.json')]);
  });

  it('the TypeScript client retries a POST request only if the operation accepts an Idempotency-Key', () => {
    const posts = Object.entries(paths).filter(([, { post }]) => post !== undefined);
    const keyed = posts.filter(([, { post }]) => JSON.stringify(post!.parameters ?? []).includes('Idempotency-Key'));
    expect(keyed.length).toBeGreaterThan(5);
    expect(posts.filter(([path]) => KEYED_POSTS.test(path)).map(([path]) => path)).toEqual(keyed.map(([path]) => path));
  });
});
