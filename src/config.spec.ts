import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Config } from './config.js';
import type { ConfigError } from './platform/environment-reader.js';

const folder = mkdtempSync(join(tmpdir(), 'secret-files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const key = randomBytes(32);
const faultsOf = (env: NodeJS.ProcessEnv) => {
  try {
    new Config(env);
    return [];
  } catch (error) {
    return (error as ConfigError).faults;
  }
};

describe('a secret in a file', () => {
  it('the service ignores the line break at the end of a secret file', () => {
    const config = new Config({
      DATABASE_URL_FILE: file('url', 'postgres://service@db.example/eligibility\n'),
      SECRETS_KEY_FILE: file('key', `${key.toString('base64')}\r\n`),
    });
    expect(config.database.url).toBe('postgres://service@db.example/eligibility');
    expect(config.secrets.keys).toEqual([key]);
  });

  it('the configuration reports one error for each secret that is set twice, or whose file is empty or missing', () => {
    const faults = faultsOf({
      DATABASE_URL: 'postgres://service@db.example/eligibility',
      DATABASE_URL_FILE: file('url', 'postgres://other@db.example/eligibility'),
      SECRETS_KEY_FILE: file('empty', '\n'),
      OIDC_CLIENT_SECRET_FILE: join(folder, 'nothing'),
    });
    expect(faults.filter((fault) => fault.includes('_FILE'))).toEqual([
      'DATABASE_URL_FILE and DATABASE_URL must not both be set',
      'SECRETS_KEY_FILE names an empty file',
      'OIDC_CLIENT_SECRET_FILE names a file that cannot be read (ENOENT)',
    ]);
  });
});

it('the configuration reports the invalid settings of all modules together', () => {
  const faults = faultsOf({
    PORT: 'x',
    ROLES: 'api,web',
    RETRY_SCHEDULE_S: '5,',
    CHANGES_RETENTION_DAYS: '0',
    RESULT_MIB_PER_DAY: '-1',
    OIDC_ISSUER: 'id.example',
    CELL: 'O',
    SECRETS_KEY: 'short',
  });
  expect(faults.map((fault) => fault.split(' ')[0])).toEqual([
    'ROLES',
    'PORT',
    'OIDC_ISSUER',
    'OIDC_CLIENT_ID',
    'OIDC_CLIENT_SECRET',
    'OIDC_ADMIN_GROUP',
    'RETRY_SCHEDULE_S',
    'CHANGES_RETENTION_DAYS',
    'RESULT_MIB_PER_DAY',
    'SECRETS_KEY',
    'CELL',
  ]);
});
