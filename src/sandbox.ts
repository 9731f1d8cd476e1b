import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { CommandBus } from '@nestjs/cqrs';
import { CreateAccount, PutCatalogueEntry, PutTest, type TestDefinition } from './accounts/accounts.commands.js';
import { Account } from './accounts/account.entity.js';
import { CreateApplication, CreateUser, type ApplicationCredentials } from './auth/auth.commands.js';
import type { Config } from './config.js';
import { formatOptionalDateTime } from './platform/clock.js';
import { Database } from './platform/database/database.js';
import { UnitOfWork } from './platform/unit-of-work/unit-of-work.js';
import { CLIENT_SCOPES, SCOPES, type Scope } from './platform/context/caller.js';
import { Logger } from './platform/observability/logger.js';
import { randomToken } from './platform/secrets.js';
import { type OperationValues, ownAddress, SandboxClient } from './sandbox/sandbox-client.js';
import { SandboxExamples } from './sandbox/sandbox-examples.js';
import { SandboxPartner } from './sandbox/sandbox-partner.js';
import { PutVoucher, type VoucherDefinition } from './vouchers/vouchers.commands.js';

/** The files that describe the sandbox. Only their owner can read them. */
export interface Sandbox {
  /** The path of the JSON file with the account, the credentials, the tests and the vouchers. */
  readonly file: string;
  /** The path of the file with a token request of the sandbox's client, as a configuration for `curl -K`. */
  readonly curlFile: string;
}

interface Login extends ApplicationCredentials {
  username: string;
  password: string;
}

/** The address of the sandbox's own partner, and the certificate with which clients verify it. */
type PartnerOfItsOwn = Pick<SandboxPartner, 'partner_url' | 'ca_pem'>;

interface SandboxFile {
  base_url: string;
  token_url: string;
  account_code: string;
  client: Login;
  operator: Login;
  tests: { test_code: string; portions: TestDefinition['portions'] }[];
  schools: { school_code: string }[];
  accommodations: { accommodation_code: string; requires_approval: boolean }[];
  attribute_keys: { attribute_key: string }[];
  vouchers: { voucher_code: string; valid_from: string | null; valid_until: string | null }[];
  partner?: PartnerOfItsOwn;
  /**
   * The values with which the examples of the OpenAPI document work; absent until the objects of the examples exist.
   */
  examples?: OperationValues;
}

const TESTS: ({ test_code: string } & TestDefinition)[] = [
  {
    test_code: 'SANDBOX-ONE',
    name: 'A test of one portion',
    exam_code: 'EXAM-ONE',
    launch_url: 'https://test-driver.example/launch',
    duration_minutes: 90,
    change_cutoff_hours: null,
    launch_minutes_before: null,
    retake: null,
    portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
  },
  {
    test_code: 'SANDBOX-TWO',
    name: 'A test of two portions',
    exam_code: 'EXAM-TWO',
    launch_url: 'https://test-driver.example/launch',
    duration_minutes: 180,
    change_cutoff_hours: null,
    launch_minutes_before: null,
    retake: null,
    portions: [
      { portion_code: 'THEORY', portion_name: 'Theory' },
      { portion_code: 'PRACTICE', portion_name: 'Practice' },
    ],
  },
];
const ACCOMMODATIONS = [
  { accommodation_code: 'LARGE-PRINT', name: 'Large print', requires_approval: false },
  { accommodation_code: 'EXTRA-TIME', name: 'Extra time', requires_approval: true },
];
const ANY_TIME = { currency: null, test_codes: [], valid_from: null, valid_until: null, disabled: false };
const VOUCHERS: ({ voucher_code: string } & VoucherDefinition)[] = [
  { ...ANY_TIME, voucher_code: 'PERCENT-10', discount_type: 'PERCENT', discount_value: 10, max_uses: 1000 },
  {
    ...ANY_TIME,
    voucher_code: 'AMOUNT-25',
    discount_type: 'AMOUNT',
    discount_value: 25,
    currency: 'USD',
    max_uses: 1000,
  },
  {
    ...ANY_TIME,
    voucher_code: 'EXPIRED-50',
    discount_type: 'PERCENT',
    discount_value: 50,
    valid_until: new Date('2020-12-31T23:59:59Z'),
    max_uses: 1000,
  },
  { ...ANY_TIME, voucher_code: 'ONCE-100', discount_type: 'PERCENT', discount_value: 100, max_uses: 1 },
];

/**
 * Creates example data for development if the database has no accounts. If the sandbox has created its data already,
 * only updates the addresses in its files. Returns null if the database contains other data.
 */
export async function ensureSandbox(app: INestApplicationContext, config: Config): Promise<Sandbox | null> {
  const file = join(config.process.dataDir, 'sandbox.json');
  const empty = (await app.get(Database).manager.count(Account)) === 0;
  if (empty) await makeSandbox(app, config, file);
  else if (!existsSync(file)) return null;
  const { partner_url, ca_pem } = app.get(SandboxPartner);
  const content: SandboxFile = {
    ...(JSON.parse(readFileSync(file, 'utf8')) as SandboxFile),
    ...addresses(config),
    partner: { partner_url, ca_pem },
  };
  writePrivate(file, JSON.stringify(content, null, 2) + '\n');
  const curlFile = join(config.process.dataDir, 'sandbox.curl');
  writePrivate(curlFile, tokenRequest(content.client));
  return { file, curlFile };
}

/**
 * Creates the objects that the examples of the OpenAPI document name, unless these objects exist. The service must
 * already be listening. A failure is only logged, because the sandbox works without these objects.
 */
export async function ensureExamples(app: NestExpressApplication, config: Config, { file }: Sandbox): Promise<void> {
  const content = JSON.parse(readFileSync(file, 'utf8')) as SandboxFile;
  if (content.examples !== undefined || !config.process.roles.has('api')) return;
  const { host, basePath } = config.http;
  const { account_code, operator, partner } = content;
  try {
    const client = new SandboxClient(ownAddress(app.getHttpServer(), host, basePath), operator);
    await client.signIn();
    const made = new SandboxExamples(client, { account_code, partner: partner! });
    const examples = await app.get(Logger).quietly(() => made.make());
    writePrivate(file, JSON.stringify({ ...content, examples }, null, 2) + '\n');
  } catch (error) {
    app.get(Logger).warn({ err: error }, 'the objects of the examples in the OpenAPI document were not created');
  }
}

/**
 * Creates the sandbox's example data. The file with the credentials is written before the commit, because the
 * credentials exist nowhere else and a crash after the commit would lose them.
 */
async function makeSandbox(app: INestApplicationContext, config: Config, file: string): Promise<void> {
  const commands = app.get(CommandBus);
  await app.get(UnitOfWork).run(async () => {
    const { account_code } = await commands.execute(new CreateAccount('Sandbox'));
    for (const { test_code, ...definition } of TESTS)
      await commands.execute(new PutTest(account_code, test_code, definition));
    await commands.execute(new PutCatalogueEntry('school', account_code, 'SCHOOL-1', { name: 'Sandbox School' }));
    for (const { accommodation_code, ...definition } of ACCOMMODATIONS)
      await commands.execute(new PutCatalogueEntry('accommodation', account_code, accommodation_code, definition));
    await commands.execute(new PutCatalogueEntry('attribute-key', account_code, 'cohort', { name: 'Cohort' }));
    for (const { voucher_code, ...definition } of VOUCHERS)
      await commands.execute(new PutVoucher(account_code, voucher_code, definition));
    const content: SandboxFile = {
      ...addresses(config),
      account_code,
      client: await makeLogin(commands, 'sandbox-client', [account_code], CLIENT_SCOPES),
      operator: await makeLogin(commands, 'sandbox-operator', [], SCOPES),
      tests: TESTS.map(({ test_code, portions }) => ({ test_code, portions })),
      schools: [{ school_code: 'SCHOOL-1' }],
      accommodations: ACCOMMODATIONS.map(({ accommodation_code, requires_approval }) => ({
        accommodation_code,
        requires_approval,
      })),
      attribute_keys: [{ attribute_key: 'cohort' }],
      vouchers: VOUCHERS.map((voucher) => ({
        ...voucher,
        valid_from: formatOptionalDateTime(voucher.valid_from),
        valid_until: formatOptionalDateTime(voucher.valid_until),
      })),
    };
    writePrivate(file, JSON.stringify(content, null, 2) + '\n');
  });
}

async function makeLogin(
  commands: CommandBus,
  username: string,
  accounts: string[],
  scopes: readonly Scope[],
): Promise<Login> {
  const password = randomToken(18);
  await commands.execute(new CreateUser(username, password, accounts, scopes));
  const credentials = await commands.execute(new CreateApplication(username, scopes));
  return { ...credentials, username, password };
}

function addresses({ http: { baseUrl } }: Config) {
  return { base_url: baseUrl, token_url: baseUrl };
}

function tokenRequest({ consumer_key, consumer_secret, username, password }: Login): string {
  return [
    'silent',
    `user = "${consumer_key}:${consumer_secret}"`,
    'data = "grant_type=password"',
    `data-urlencode = "username=${username}"`,
    `data-urlencode = "password=${password}"`,
    '',
  ].join('\n');
}

/** Writes a file atomically. Only its owner can read it. */
function writePrivate(file: string, content: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}
