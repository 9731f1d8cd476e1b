import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EligibilityClient, ProblemError, TokenError } from '../../clients/typescript/src/index';
import { CLIENT_SCOPES } from '../../src/platform/context/caller';
import { startApp, type TestApp } from '../support/app';

const ROOT = resolve(__dirname, '../..');
const PASSWORD = 'correct-Horse-77-battery';

let app: TestApp;
let account: string;
let testCode: string;
let username: string;
let credentials: { consumerKey: string; consumerSecret: string; username: string; password: string };

/**
 * A proxy between the client and the service. The proxy counts requests, and replaces or drops responses as the test
 * specifies. The proxy delays each request for the change feed until the feed contains every change.
 */
let front: Server;
let baseUrl: string;
let seen: string[] = [];
let plan: (line: string, count: number) => 'forward' | 'lose' | number = () => 'forward';

beforeAll(async () => {
  app = await startApp();
  account = await app.given.account();
  testCode = await app.given.test(account);
  const operator = await app.given.operator();
  username = app.given.unique('client-');
  const user = { username, password: PASSWORD, account_codes: [account], scopes: CLIENT_SCOPES };
  await app.call('POST', '/admin/users', { token: operator, body: user });
  const { body } = await app.call('POST', '/admin/applications', {
    token: operator,
    body: { name: 'client', scopes: CLIENT_SCOPES },
  });
  credentials = {
    consumerKey: body.consumer_key,
    consumerSecret: body.consumer_secret,
    username,
    password: PASSWORD,
  };
  front = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      seen.push(line);
      const planned = plan(line, seen.filter((other) => other === line).length);
      if (typeof planned === 'number') {
        response.writeHead(planned, { 'retry-after': '0' }).end('of a proxy');
        return;
      }
      const { host: _host, connection: _connection, 'transfer-encoding': _coding, ...headers } = request.headers;
      const body = chunks.length === 0 ? null : Buffer.concat(chunks);
      // The change feed withholds its last entries while other test files have open transactions on the same server.
      (line.includes('/changes') ? app.given.settled() : Promise.resolve())
        .then(() =>
          fetch(app.url + request.url, { method: request.method, headers: headers as Record<string, string>, body }),
        )
        .then(async (answer) => {
          const text = await answer.text();
          if (planned === 'lose') return request.socket.destroy();
          const kept = ['content-type', 'link', 'idempotency-replayed'];
          const named = kept.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name)!]] : []));
          return response.writeHead(answer.status, Object.fromEntries(named)).end(text);
        })
        .catch(() => request.socket.destroy());
    });
  });
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
  baseUrl = `http://127.0.0.1:${(front.address() as { port: number }).port}`;
});

afterAll(async () => {
  front?.closeAllConnections();
  front?.close();
  await app?.close();
});

beforeEach(() => {
  seen = [];
  plan = () => 'forward';
});

const client = (changes: Partial<typeof credentials> = {}, most = 3) =>
  new EligibilityClient({
    baseUrl: `${baseUrl}/`,
    credentials: { ...credentials, ...changes },
    retries: { most, firstWaitMs: 5 },
  });
const tokens = () => seen.filter((line) => line === 'POST /token').length;
const create = (of: EligibilityClient) =>
  of.api.POST('/accounts/{account_code}/candidates', {
    params: { path: { account_code: account } },
    body: app.given.eligibilityBody(testCode) as never,
  });
const list = (of: EligibilityClient) =>
  of.api.GET('/accounts/{account_code}/eligibilities', { params: { path: { account_code: account } } });

describe('the client for TypeScript', () => {
  it('the TypeScript client uses one token for many calls, and requests a new token when that token is no longer valid', async () => {
    const caller = client();
    await Promise.all(Array.from({ length: 8 }, () => list(caller)));
    expect(tokens()).toBe(1);
    await app.given.sql('UPDATE access_tokens SET expires_at = now()');
    await Promise.all(Array.from({ length: 8 }, () => list(caller)));
    expect(tokens()).toBe(2);
    // When the token family is deleted, its refresh token becomes invalid as well. The client must then use the
    // password.
    await app.given.sql('DELETE FROM access_tokens');
    await app.given.sql('DELETE FROM token_families');
    await list(caller);
    expect(tokens()).toBe(4);
  });

  it('the TypeScript client throws an error when the token service or the API refuses a request', async () => {
    await expect(list(client({ password: 'wrong' }))).rejects.toThrow(TokenError);
    await expect(list(client({ password: 'wrong' }))).rejects.toMatchObject({ status: 400, code: 'invalid_grant' });
    const caller = client();
    const refused = caller.api.GET('/accounts/{account_code}/changes', {
      params: { path: { account_code: 'ELSEWHERE' } },
    });
    await expect(refused).rejects.toThrow(ProblemError);
    await expect(refused).rejects.toMatchObject({ status: 403, code: 'account_forbidden' });
  });

  it('the TypeScript client retries temporary failures, and creates only one record when a response is lost', async () => {
    const caller = client();
    const path = `POST /accounts/${account}/candidates`;
    plan = (line, count) => (line === path && count <= 2 ? (count === 1 ? 503 : 'lose') : 'forward');
    const { response } = await create(caller);
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(seen.filter((line) => line === path)).toHaveLength(3);
    const rows = await app.given.sql('SELECT 1 FROM eligibilities WHERE account_code = $1', [account]);
    expect(rows).toHaveLength(1);
  });

  it('the TypeScript client gives up after the last retry, and never retries a refused request', async () => {
    plan = (line) => (line.startsWith('GET') ? 503 : 'forward');
    await expect(list(client({}, 2))).rejects.toMatchObject({ status: 503, code: 'unreadable' });
    expect(seen.filter((line) => line.startsWith('GET'))).toHaveLength(3);
    plan = () => 'forward';
    seen = [];
    const wrong = client().api.GET('/accounts/{account_code}/eligibilities', {
      params: { path: { account_code: account }, query: { status: 'none' } },
    });
    await expect(wrong).rejects.toMatchObject({ status: 400 });
    expect(seen.filter((line) => line.startsWith('GET'))).toHaveLength(1);
  });

  it('the TypeScript client reads multi-page lists, and continues the change feed from a cursor', async () => {
    const caller = client();
    const pages: string[] = [];
    for (let n = 0; n < 3; n += 1) await create(caller);
    for await (const { svc_eligiblity_id } of caller.each((cursor) =>
      caller.api.GET('/accounts/{account_code}/eligibilities', {
        params: { path: { account_code: account }, query: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    ))
      pages.push(svc_eligiblity_id);
    expect(new Set(pages).size).toBe(4);
    let after: string | undefined;
    const changes = async () => {
      const told: string[] = [];
      for await (const { entries, next } of caller.changes(account, after === undefined ? {} : { after })) {
        told.push(...entries.map(({ change }) => change));
        after = next;
      }
      return told;
    };
    expect(await changes()).toEqual(['CREATED', 'CREATED', 'CREATED', 'CREATED']);
    expect(await changes()).toEqual([]);
    await create(caller);
    expect(await changes()).toEqual(['CREATED']);
  });
});

describe('clients/typescript/README.md', () => {
  it('the program in clients/typescript/README.md works with the built package', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eligibility-client-'));
    const built = spawnSync('node', ['scripts/build-clients.mjs', folder], { cwd: ROOT, encoding: 'utf8' });
    expect(`${built.status} ${built.stderr}`).toMatch(/^0/);
    const scope = join(folder, 'node_modules/@candidate-eligibility');
    mkdirSync(scope, { recursive: true });
    cpSync(join(folder, 'typescript'), join(scope, 'client'), { recursive: true });
    for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
    const readme = readFileSync(join(ROOT, 'clients/typescript/README.md'), 'utf8');
    const [, code] = /^```js\n\/\/ client\.mjs\n([\s\S]*?)^```$/m.exec(readme)!;
    writeFileSync(join(folder, 'client.mjs'), code);
    writeFileSync(
      join(folder, 'client.cjs'),
      "console.log(typeof require('@candidate-eligibility/client').EligibilityClient);",
    );

    const { account: itsAccount, testCode: itsTest } = await app.given.scene();
    await app.given.sql('INSERT INTO user_accounts VALUES ($1, $2)', [username, itsAccount]);
    const { PATH } = process.env;
    const env = {
      PATH,
      BASE_URL: baseUrl,
      ACCOUNT: itsAccount,
      TEST_CODE: itsTest,
      CONSUMER_KEY: credentials.consumerKey,
      CONSUMER_SECRET: credentials.consumerSecret,
      USERNAME: username,
      PASSWORD,
    };
    const lines = (await run(folder, 'client.mjs', env)).trim().split('\n');
    expect(lines.slice(0, 3)).toEqual(['created ELIGIBLE', 'refused 400 duplicate_eligibility', 'imported 2 3']);
    expect(lines.slice(3, 6).sort()).toEqual(['listed ADA-1', 'listed BOB-1', 'listed EVE-1']);
    expect(lines.slice(6)).toEqual(['CREATED ADA-1 true', 'CREATED BOB-1 true', 'CREATED EVE-1 true']);
    expect(await run(folder, 'client.cjs', { PATH })).toBe('function\n');
    rmSync(folder, { recursive: true, force: true });
  }, 180_000);
});

function run(folder: string, file: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn('node', [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let faults = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (faults += chunk.toString('utf8')));
  return new Promise((done) => child.once('close', (code) => done(code === 0 ? output : `${code} ${faults}`)));
}
