import { request } from 'node:http';
import { parse } from 'csv-parse/sync';
import { eventually } from '../support/eventually';
import { startApp, type TestApp } from '../support/app';

describe('an export of records', () => {
  let app: TestApp;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());

  const exported = async (scene: { account: string; token: string }) => {
    const answer = await app.call('GET', `/accounts/${scene.account}/eligibilities.csv`, { token: scene.token });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/csv');
    return { text: answer.text, rows: parse<Record<string, string>>(answer.text, { columns: true, bom: true }) };
  };

  it('an exported file stays the same when it is imported into another account and exported again', async () => {
    const scene = await app.given.scene();
    const key = await app.given.attributeKey(scene.account, 'badge');
    const voucher = await app.given.voucher(scene.account, { max_uses: 5 });
    const made = await app.given.eligibility(scene, {
      registration_mode: 'Phone',
      voucher_codes: [voucher],
      client_eligibility_id: 'EL-1',
      candidate: {
        last_name: '=HYPERLINK("http://x.example")',
        middle_name: 'a, "b"',
        home_phone: '+1 217 555 0100',
        additional_attributes: [{ key, value: '@SUM(A1)' }],
      },
    });
    const { text, rows } = await exported(scene);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      svc_eligiblity_id: made['svc_eligiblity_id'],
      status: 'ELIGIBLE',
      registration_mode: 'Phone',
      voucher_codes: voucher,
      last_name: `'=HYPERLINK("http://x.example")`,
      home_phone: "'+1 217 555 0100",
      'attributes.badge': "'@SUM(A1)",
    });

    const other = await app.given.scene({ test_code: scene.testCode });
    await app.given.attributeKey(other.account, key);
    await app.given.voucher(other.account, { code: voucher });
    const path = `/accounts/${other.account}/eligibility-imports`;
    const answer = await app.call('POST', path, {
      token: other.token,
      body: text,
      headers: { 'content-type': 'text/csv' },
    });
    await eventually(async () => {
      const { body } = await app.call('GET', `${path}/${answer.body.import_id}`, { token: other.token });
      expect(body).toMatchObject({ state: 'DONE', created: 1 });
    });
    const [copy] = (
      await app.call('GET', `/accounts/${other.account}/candidates/${made['candidate'].candidate_id}`, {
        token: other.token,
      })
    ).body;
    expect(copy.candidate).toEqual(made['candidate']);
    expect(copy.client_eligibility_id).toBe('EL-1');
  });

  it('an export contains every record once, newest first, and holds no database connection for a slow reader', async () => {
    const scene = await app.given.scene();
    const rows = Array.from({ length: 3000 }, (_, number) =>
      JSON.stringify({
        test_code: scene.testCode,
        candidate: {
          candidate_id: `E-${number}`,
          first_name: 'A'.repeat(100),
          last_name: 'B',
          address1: 'C'.repeat(200),
        },
      }),
    );
    const path = `/accounts/${scene.account}/eligibility-imports`;
    const answer = await app.call('POST', path, {
      token: scene.token,
      body: rows.join('\n'),
      headers: { 'content-type': 'application/x-ndjson' },
    });
    await eventually(async () => {
      const { body } = await app.call('GET', `${path}/${answer.body.import_id}`, { token: scene.token });
      expect(body).toMatchObject({ state: 'DONE', created: 3000 });
    }, 50_000);

    const slow = request(`${app.url}/accounts/${scene.account}/eligibilities.csv`, {
      headers: { authorization: `Bearer ${scene.token}` },
    });
    const response = new Promise<NodeJS.ReadableStream>((resolve) => slow.once('response', resolve));
    slow.end();
    const reader = await response;
    reader.pause();
    await eventually(async () => {
      const busy = await app.given.sql(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND (state <> 'idle' OR xact_start IS NOT NULL) AND backend_type = 'client backend'`,
      );
      expect(busy).toEqual([]);
    });
    const parts: Buffer[] = [];
    for await (const part of reader) parts.push(part as Buffer);
    const slowRows = parse<Record<string, string>>(Buffer.concat(parts), { columns: true, bom: true });
    const ids = slowRows.map((row) => row['svc_eligiblity_id']);
    const expected = await app.given.sql(
      'SELECT svc_eligiblity_id FROM eligibilities WHERE account_code = $1 ORDER BY position DESC',
      [scene.account],
    );
    expect(ids).toEqual(expected.map((row) => row['svc_eligiblity_id']));
  });

  it('an export requires the read scope for the account', async () => {
    const scene = await app.given.scene();
    const create = await app.given.token([scene.account], ['create']);
    const other = await app.given.scene();
    for (const token of [create, other.token])
      expect((await app.call('GET', `/accounts/${scene.account}/eligibilities.csv`, { token })).status).toBe(403);
  });
});
