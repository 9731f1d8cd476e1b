import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureSandbox } from '../../src/sandbox';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

/**
 * Runs command lines of the documents unchanged, against a sandbox, in a folder with the layout of the repository.
 * Other tests run the remaining command lines; test/architecture/code-blocks.spec.ts lists the test of each section.
 */
const ROOT = resolve(__dirname, '../..');

const secretsKey = randomBytes(32).toString('base64');
let app: TestApp;
let folder: string;
let sandbox: Record<string, any>;

beforeAll(async () => {
  app = await startApp({ env: { SANDBOX: 'true', SECRETS_KEY: secretsKey } });
  await ensureSandbox(app.app, app.config);
  sandbox = JSON.parse(readFileSync(join(app.config.process.dataDir, 'sandbox.json'), 'utf8'));
  folder = mkdtempSync(join(tmpdir(), 'eligibility-documents-'));
  for (const name of ['package.json', 'scripts', 'dist', 'node_modules'])
    symlinkSync(join(ROOT, name), join(folder, name));
  symlinkSync(app.config.process.dataDir, join(folder, 'data'));
});

afterAll(async () => {
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the code blocks in the given language from a section of a document. */
function blocksOf(document: string, title: string, language: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const [, section] = text.split(new RegExp(`^#+ ${title}\n`, 'm'));
  const [own] = section.split(/^#+ /m);
  return [...own.matchAll(new RegExp(`^( *)\`\`\`${language}\n([^]*?)^ *\`\`\`$`, 'gm'))].map(([, indent, code]) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Runs command lines of a document in a shell. @returns the shell's standard output */
async function type(lines: string, env: Record<string, string> = {}): Promise<string> {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn('sh', ['-eu', '-c', lines], { cwd: folder, env: { PATH, HOME, TMPDIR, BASE: app.url, ...env } });
  let [said, complained] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString('utf8')));
  child.stderr.on('data', (bytes: Buffer) => (complained += bytes.toString('utf8')));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  if (code !== 0) throw new Error(`${code} ${said} ${complained}`);
  return said;
}

const ofInstallation = () => ({ DATABASE_URL: app.databaseUrl, SECRETS_KEY: secretsKey, SANDBOX: 'true' });

/** Runs the commands of docs/oauth.md that request a token, and returns the token. */
async function login({ consumer_key, consumer_secret, username, password }: Record<string, string>): Promise<string> {
  const [lines] = blocksOf('docs/oauth.md', 'The token service', 'sh');
  const said = await type(lines, {
    CONSUMER_KEY: consumer_key,
    CONSUMER_SECRET: consumer_secret,
    NAME: username,
    PASSWORD: password,
  });
  return (JSON.parse(said) as { access_token: string }).access_token;
}

describe('the command lines of the documents', () => {
  let token: string;
  let operator: string;
  let account: string;

  it('the commands in docs/oauth.md get a token', async () => {
    token = await login(sandbox['client']);
    operator = await login(sandbox['operator']);
    account = sandbox['account_code'];
    expect((await app.call('GET', `/accounts/${account}/eligibilities`, { token })).status).toBe(200);
  });

  it('the commands in docs/oauth.md get a token for a program that acts without a user', async () => {
    const body = { name: 'Portal', scopes: ['read'], grants: ['client_credentials'], account_codes: [account] };
    const { consumer_key, consumer_secret } = (await app.call('POST', '/admin/applications', { token: operator, body }))
      .body as Record<string, string>;
    const [lines] = blocksOf('docs/oauth.md', 'Programs without a user', 'sh');
    const said = await type(lines, { CONSUMER_KEY: consumer_key, CONSUMER_SECRET: consumer_secret });
    const { access_token } = JSON.parse(said) as { access_token: string };
    expect((await app.call('GET', `/accounts/${account}/eligibilities`, { token: access_token })).status).toBe(200);
  });

  it('the commands in docs/import.md check an import file with a dry run', async () => {
    writeFileSync(
      join(folder, 'season.csv'),
      'candidate_id,first_name,last_name,test_code\nS-1,Ada,Lovelace,SANDBOX-ONE\n',
    );
    const [lines] = blocksOf('docs/import.md', 'Import a file', 'sh');
    const { import_id } = JSON.parse(await type(lines, { TOKEN: token, ACCOUNT: account })) as Record<string, string>;
    await eventually(async () => {
      const { body } = await app.call('GET', `/accounts/${account}/eligibility-imports/${import_id}`, { token });
      expect(body).toMatchObject({ state: 'DONE', rows: 1, refused: 0, dry_run: true });
    });
  });

  async function book(candidate_id: string): Promise<string> {
    const candidate = { candidate_id, first_name: 'Ada', last_name: 'Lovelace' };
    await app.call('POST', `/accounts/${account}/candidates`, { token, body: { test_code: 'SANDBOX-ONE', candidate } });
    const { body } = await app.call(
      'POST',
      `/accounts/${account}/candidates/${candidate_id}/tests/SANDBOX-ONE/bookings`,
      { token, body: { booking_on: '2098-05-14T09:00:00Z', delivery_mode: 'SVC_REMOTE_PROCTORED' } },
    );
    return body.booking_code as string;
  }
  const statusOf = async (candidate: string) =>
    (await app.call('GET', `/accounts/${account}/candidates/${candidate}`, { token })).body[0].status as string;

  it('the commands in docs/test-drivers.md deliver a result through each of the two routes', async () => {
    const [byRegistration] = blocksOf('docs/test-drivers.md', 'By registration', 'sh');
    expect(await type(byRegistration, { TOKEN: token, BOOKING: await book('driver-1') })).toBe('200\n');
    expect(await statusOf('driver-1')).toBe('COMPLETED');
    const [byAccount] = blocksOf('docs/test-drivers.md', 'By account and candidate', 'sh');
    await book('driver-2');
    expect(await type(byAccount, { TOKEN: token, ACCOUNT: account, CANDIDATE: 'driver-2' })).toBe('200\n');
    expect(await statusOf('driver-2')).toBe('COMPLETED');
  });

  it('the examples in docs/sandbox.md move the clock and raise an event, and show the members of data/sandbox.json', async () => {
    const [advance] = blocksOf('docs/sandbox.md', 'A clock that can be moved', 'json');
    const post = (path: string, body: unknown) => app.call('POST', path, { token: operator, body });
    const before = (await app.call('GET', '/sandbox/clock', { token: operator })).body.now as string;
    const moved = await post('/sandbox/clock', JSON.parse(advance));
    expect([moved.status, Date.parse(moved.body.now) - Date.parse(before) >= 86_400_000]).toEqual([200, true]);
    [token, operator] = [await login(sandbox['client']), await login(sandbox['operator'])];
    const [event] = blocksOf('docs/sandbox.md', 'An event for a booking', 'json');
    const booking_code = await book('event-1');
    expect((await post('/sandbox/events', { ...JSON.parse(event), booking_code })).status).toBe(202);
    const [held] = blocksOf('docs/sandbox.md', 'The partner of the sandbox', 'json');
    for (const [name, member] of Object.entries(JSON.parse(held) as Record<string, object>))
      expect(Object.keys(sandbox[name])).toEqual(Object.keys(member));
  });

  it('the requests in docs/main-job.http run the main flow, and the partner is notified of the booking', async () => {
    const [script, ...requests] = readFileSync(join(ROOT, 'docs/main-job.http'), 'utf8').split(/^### .*$/m);
    const known: Record<string, any> = {};
    const valueOf = (expression: string) =>
      // eslint-disable-next-line @typescript-eslint/no-implied-eval
      (new Function(...Object.keys(known), `return ${expression}`) as (...values: unknown[]) => string)(
        ...Object.values(known),
      );
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    (new Function('require', 'exports', /\{\{([^]*?)\n\}\}/.exec(script)![1]) as (...values: unknown[]) => void)(
      (name: string) => (name === '../data/sandbox.json' ? { ...sandbox, base_url: app.url } : undefined),
      known,
    );
    let last: any;
    for (const request of requests) {
      const text = request.replaceAll(/\{\{(.+?)\}\}/g, (_all, expression: string) => valueOf(expression)).trim();
      const [head, ...body] = text.split('\n\n');
      const lines = head.split('\n');
      const name = /^# @name (\w+)$/.exec(lines[0])?.[1];
      const [line, ...fields] = name === undefined ? lines : lines.slice(1);
      const [method, url] = line.split(' ');
      const headers = fields.map((field) => field.split(': ') as [string, string]);
      const response = await fetch(url, {
        method,
        // A .http file contains the user name and the password for Basic authentication in plain text. The programs
        // that run .http files encode both.
        headers: headers.map(([field, value]) => [
          field,
          value.replace(/^Basic (\S+) (\S+)$/, (_all, key, secret) => `Basic ${btoa(`${key}:${secret}`)}`),
        ]),
        ...(body.length > 0 && { body: body.join('\n\n') }),
      });
      expect([line, response.ok]).toEqual([line, true]);
      const answer = await response.text();
      last = answer === '' ? undefined : JSON.parse(answer);
      if (name !== undefined) known[name] = last;
      if (line.includes('/candidates/') && method === 'GET') expect(last[0].status).toBe('COMPLETED');
    }
    expect(requests.length).toBe(9);
    expect(JSON.stringify(last)).toContain('BOOKING_CREATED');
  });

  it('the commands in docs/notifications.md poll notifications, and request failed notifications again', async () => {
    const { partner_url, ca_pem } = sandbox['partner'] as { partner_url: string; ca_pem: string };
    const subscribe = async (body: object) =>
      (await app.call('POST', '/admin/subscriptions', { token: operator, body: { account_code: account, ...body } }))
        .body['id'] as string;
    const pushed = await subscribe({ partner_url: `${partner_url}/samples`, ca_pem });
    const subscription_ids = [pushed, await subscribe({ delivery: 'POLL' })];
    expect((await app.call('POST', `/admin/subscriptions/${pushed}/verify`, { token: operator })).status).toBe(200);
    const body = { name: 'Partner', scopes: ['partner'], grants: ['client_credentials'], subscription_ids };
    const { consumer_key, consumer_secret } = (await app.call('POST', '/admin/applications', { token: operator, body }))
      .body as Record<string, string>;
    const booking_code = await book('partner-1');
    await eventually(async () => {
      const failed = `/admin/error-queue?subscription_id=${pushed}&retry=MANUAL`;
      expect((await app.call('GET', failed, { token: operator })).body).toHaveLength(1);
    });
    const [poll] = blocksOf('docs/notifications.md', 'Poll', 'sh');
    const [catchUp] = blocksOf('docs/notifications.md', 'Catch up after an outage', 'sh');
    const said = await type(`${poll}\necho\n${catchUp}`, {
      CONSUMER_KEY: consumer_key,
      CONSUMER_SECRET: consumer_secret,
    });
    const [polled, replayed] = said.trim().split('\n');
    expect(polled).toContain(booking_code);
    const job = `/admin/jobs/${(JSON.parse(replayed) as { job_id: string }).job_id}`;
    await eventually(async () =>
      // The partner refuses every notification.
      expect((await app.call('GET', job, { token: operator })).body).toMatchObject({ state: 'DONE', failed: 1 }),
    );
  });

  it('the notification in docs/notifications.md contains every member of the NotificationRequest schema', () => {
    const [body] = blocksOf('docs/notifications.md', 'The request', 'json').map((text) => JSON.parse(text) as object);
    const schema = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')).components.schemas
      .NotificationRequest as { properties: object };
    expect(Object.keys(body).sort()).toEqual(Object.keys(schema.properties).sort());
  });

  it('the commands in docs/upgrade.md list migrations, run them and grant rights to the database role', async () => {
    const [lines] = blocksOf('docs/upgrade.md', 'Steps', 'sh');
    const [install, ...rest] = lines.split('\n');
    // The document's install command is not run here, because scripts/walk.mjs runs it.
    expect(install).toBe('npm ci && npm run build');
    const said = await type(rest.join('\n'), ofInstallation());
    expect(said).toMatch(/\[X\] \d+ Accounts\d+/);
    expect(said).not.toContain('[ ]');
    expect(said).toContain('Migrated. The role eligibility_service has the rights that the service needs.');
    const [row] = await app.given.sql(`SELECT has_table_privilege('eligibility_service', 'bookings', 'UPDATE') AS may`);
    expect(row).toEqual({ may: true });
  }, 240_000);

  it('a newer build of a client package does not make scripts/start.mjs recompile the service', () => {
    const built = join(ROOT, 'clients/typescript/dist');
    mkdirSync(built, { recursive: true });
    writeFileSync(join(built, '.built-just-now'), '');
    const { status, stderr } = spawnSync(process.execPath, ['scripts/start.mjs', 'migrate', '--no-such-option'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    rmSync(join(built, '.built-just-now'));
    expect([status, stderr]).toEqual([2, 'usage: npm run migrate [-- --grant-to ROLE]\n']);
  });

  it('the commands in docs/operations.md re-encrypt stored data with a new key', async () => {
    const [lines] = blocksOf('docs/operations.md', 'Keys', 'sh');
    const { partner_url, ca_pem } = sandbox['partner'];
    const body = { account_code: account, partner_url, ca_pem };
    expect((await app.call('POST', '/admin/subscriptions', { token: operator, body })).status).toBe(201);
    const NEW_KEY = randomBytes(32).toString('base64');
    const said = await type(lines, { ...ofInstallation(), OLD_KEY: secretsKey, NEW_KEY });
    expect(said).toMatch(/^subscriptions: [1-9]\d* encrypted again$/m);
    expect(said).toContain('All secrets are encrypted with the newest key.');
  }, 240_000);
});
