import { eventually } from '../support/eventually';
import { startApp, type TestApp } from '../support/app';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

describe('an import that ends early', () => {
  let app: TestApp;
  let operator: string;

  // The first process only receives import files, so that the test decides which process handles the rows of the files.
  beforeAll(async () => {
    app = await startApp({ env: { ROLES: 'api' } });
    operator = await app.given.operator();
  });
  afterAll(() => app.close());

  const send = async ({ account, token, testCode }: Scene): Promise<string> => {
    const body = Array.from({ length: 300 }, (_, number) =>
      JSON.stringify({
        test_code: testCode,
        candidate: { candidate_id: `e-${number}`, first_name: 'Ada', last_name: 'Lovelace' },
      }),
    ).join('\n');
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await app.call('POST', `/accounts/${account}/eligibility-imports`, { token, body, headers });
    expect(answer.status).toBe(202);
    return answer.body.import_id as string;
  };
  const read = (account: string, path: string) =>
    app.call('GET', `/accounts/${account}/eligibility-imports/${path}`, { token: operator });
  const lastLine = async (account: string, id: string) =>
    (await read(account, `${id}/report`)).text.trim().split('\r\n').at(-1)!.split(',').slice(0, 3);
  const put = (path: string, body: unknown) => app.call('PUT', path, { token: operator, body });

  it('stops an import when the sender loses the right to import, and states the reason in the report', async () => {
    const without = ['read', 'update'];
    const losses: [string, (user: string, application: string) => Promise<{ status: number }>][] = [
      ['user is disabled', (user) => put(user, { disabled: true })],
      ['user lost the scope', (user) => put(user, { scopes: without })],
      ['user lost the account', (user) => put(user, { account_codes: [] })],
      ['application is disabled', (_, application) => put(application, { disabled: true })],
      ['application lost the scope', (_, application) => put(application, { scopes: without })],
    ];
    const imports: { account: string; id: string; name: string }[] = [];
    for (const [name, lose] of losses) {
      const scene = await app.given.scene();
      const id = await send(scene);
      const [row] = await app.given.sql('SELECT username, consumer_key FROM eligibility_imports WHERE import_id = $1', [
        id,
      ]);
      const answer = await lose(`/admin/users/${row['username']}`, `/admin/applications/${row['consumer_key']}`);
      expect([name, answer.status]).toEqual([name, 200]);
      imports.push({ account: scene.account, id, name });
    }
    const kept = await app.given.scene();
    imports.push({ account: kept.account, id: await send(kept), name: 'nothing was lost' });
    const worker = await startApp({
      databaseUrl: app.databaseUrl,
      env: { ROLES: 'delivery', SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
    const ends = await eventually(async () => {
      const states = await Promise.all(
        imports.map(async ({ account, id, name }) => {
          const { state, done } = (await read(account, id)).body;
          return [name, state, done];
        }),
      );
      expect(states.map(([, state]) => state)).not.toContain('RUNNING');
      return states;
    }, 60_000);
    await worker.close();
    expect(ends).toEqual([...losses.map(([name]) => [name, 'ABORTED', 0]), ['nothing was lost', 'DONE', 300]]);
    for (const { account, id } of imports.slice(0, -1))
      expect(await lastLine(account, id)).toEqual(['1', 'NOT_DONE', 'import_access_lost']);
    expect(await app.given.sql('SELECT FROM eligibility_import_chunks WHERE rows IS NOT NULL')).toEqual([]);
    const audit = await app.given.sql(`SELECT actor FROM audit_log WHERE action = 'import.access_lost'`);
    expect(audit.map((row) => row['actor'])).toEqual(losses.map(() => 'system'));
  }, 120_000);

  it('operators and the account’s support staff can abort an import, and the abort writes an audit row', async () => {
    const scene = await app.given.scene();
    const other = await app.given.token([await app.given.account()], ['support']);
    const support = await app.given.token([scene.account], ['support']);
    for (const token of [support, operator]) {
      const id = await send(scene);
      const abort = (by: string, path = id) => app.call('POST', `/admin/imports/${path}/abort`, { token: by });
      expect((await abort(scene.token)).status).toBe(403);
      const refused = await abort(other);
      expect([refused.status, refused.body.code]).toEqual([404, 'not_found']);
      const aborted = await abort(token);
      expect([aborted.status, aborted.body.state, aborted.body.account_code]).toEqual([200, 'ABORTED', scene.account]);
      const again = await abort(token);
      expect([again.status, again.body.code]).toEqual([409, 'import_ended']);
      expect(await lastLine(scene.account, id)).toEqual(['1', 'NOT_DONE', 'import_aborted_by_operator']);
      expect((await abort(token, 'none')).status).toBe(404);
      expect(await app.given.sql('SELECT action, account_code FROM audit_log WHERE subject = $1', [id])).toEqual([
        { action: 'import.abort', account_code: scene.account },
      ]);
    }
  });
});
