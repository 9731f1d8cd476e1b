import pg from 'pg';
import { startApp, type TestApp } from '../support/app';
import { siteBooking } from '../support/given';
import { eventually } from '../support/eventually';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const path = () => `/accounts/${scene.account}/candidates`;
const create = (body: unknown, key: string, token = scene.token) =>
  app.call('POST', path(), { token, body, headers: { 'idempotency-key': key } });
const body = (changes = {}) => app.given.eligibilityBody(scene.testCode, changes);
const newKey = () => app.given.unique('key-');
const replayed = (answer: { headers: Headers }) => answer.headers.get('idempotency-replayed');

/** Returns the same JSON value with all members in reverse order. */
function turned(value: any): any {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(turned);
  return Object.fromEntries(
    Object.entries(value as object)
      .reverse()
      .map(([name, member]) => [name, turned(member)]),
  );
}

describe('§5 Idempotency-Key', () => {
  it('replays the first response with Idempotency-Replayed: true for the same Idempotency-Key and body', async () => {
    const [key, sent] = [newKey(), body()];
    const first = await create(sent, key);
    const second = await create(sent, key);
    expect([first.status, replayed(first)]).toEqual([200, null]);
    expect([second.status, replayed(second), second.body]).toEqual([200, 'true', first.body]);
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
  });

  it('replays the first response to an Idempotency-Key even if the record has changed since', async () => {
    const [key, sent] = [newKey(), body()];
    const first = await create(sent, key);
    await app.call('DELETE', `${path()}/${sent['candidate'].candidate_id}/tests/${scene.testCode}`, {
      token: scene.token,
    });
    expect((await create(sent, key)).body).toEqual(first.body);
  });

  it('treats two bodies with one Idempotency-Key as the same if their JSON values are equal, regardless of whitespace and member order', async () => {
    const [key, sent] = [newKey(), body({ portion_codes: ['MAIN'] })];
    const first = await create(sent, key);
    const second = await create(JSON.stringify(turned(sent), null, 4).replace('"Ada"', '"\\u0041da"'), key);
    expect([second.status, replayed(second), second.body]).toEqual([200, 'true', first.body]);
  });

  it('a different body with the same Idempotency-Key gets 422 idempotency_key_reused, even if the body is invalid', async () => {
    const [key, sent] = [newKey(), body()];
    await create(sent, key);
    for (const other of [body(), { ...sent, registration_mode: 'Mail' }, { ...sent, nonsense: 1 }, {}])
      expect((await create(other, key)).body).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });

  it('stores only 2xx responses: an Idempotency-Key can be used again after a refusal', async () => {
    const key = newKey();
    expect((await create({}, key)).status).toBe(400);
    expect((await create({ ...body(), test_code: 'UNKNOWN' }, key)).status).toBe(400);
    const existing = body();
    await create(existing, newKey());
    expect((await create(existing, key)).body).toMatchObject({ code: 'duplicate_eligibility' });
    const answer = await create(body(), key);
    expect([answer.status, replayed(answer)]).toEqual([200, null]);
  });

  it('returns 409 idempotency_key_in_use while the key’s first request runs, whether or not the bodies are equal', async () => {
    const [key, record] = [newKey(), await app.given.eligibility(scene)];
    const book = (more = {}) =>
      app.call('POST', `${path()}/${record['candidate'].candidate_id}/tests/${scene.testCode}/bookings`, {
        token: scene.token,
        body: { ...siteBooking(), booking_on: '2026-12-24T10:00:00Z', ...more },
        headers: { 'idempotency-key': key },
      });
    const client = new pg.Client({ connectionString: app.databaseUrl });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM eligibilities WHERE svc_eligiblity_id = $1 FOR UPDATE', [
      record['svc_eligiblity_id'],
    ]);
    const first = book();
    try {
      await eventually(async () => {
        const waiting = await app.given.sql(
          `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        );
        return waiting.length > 0;
      });
      for (const answer of [await book(), await book({ location_code: 'X' })])
        expect(answer.body).toMatchObject({ status: 409, code: 'idempotency_key_in_use' });
    } finally {
      await client.query('COMMIT');
      await client.end();
    }
    expect((await first).status).toBe(201);
    expect(replayed(await book())).toBe('true');
  });

  it('keeps the idempotency keys of different applications and users separate', async () => {
    const [key, sent] = [newKey(), body()];
    await create(sent, key);
    const other = await app.given.token([scene.account]);
    expect((await create(sent, key, other)).body).toMatchObject({ code: 'duplicate_eligibility' });
    expect((await create(body(), key, other)).status).toBe(200);
  });

  it('checks the token, scope and account of a repeated request like those of the first request', async () => {
    const [key, sent] = [newKey(), body()];
    const token = await app.given.token([scene.account]);
    await create(sent, key, token);
    const [user] = await app.given.sql(
      'SELECT username, family_id FROM token_families ORDER BY expires_at DESC LIMIT 1',
    );
    await app.given.sql(`UPDATE access_tokens SET scopes = '{read}' WHERE family_id = $1`, [user['family_id']]);
    expect((await create(sent, key, token)).body).toMatchObject({ status: 403, code: 'insufficient_scope' });
    await app.given.sql(`UPDATE access_tokens SET scopes = '{create}' WHERE family_id = $1`, [user['family_id']]);
    expect((await create(sent, key, token)).status).toBe(200);
    await app.given.sql('DELETE FROM user_accounts WHERE username = $1', [user['username']]);
    expect((await create(sent, key, token)).status).toBe(401);
    // Makes the revoked token valid again in the database, which has the same effect as a new token.
    await app.given.sql('UPDATE token_families SET revoked_at = NULL WHERE family_id = $1', [user['family_id']]);
    expect((await create(sent, key, token)).body).toMatchObject({ status: 403, code: 'account_forbidden' });
    expect((await create(sent, key, 'nonsense')).status).toBe(401);
  });

  it('keeps an Idempotency-Key for 24 hours', async () => {
    const [key, sent] = [newKey(), body()];
    await create(sent, key);
    const age = (interval: string) =>
      app.given.sql(`UPDATE idempotency_keys SET created_at = now() - $2::interval WHERE idempotency_key = $1`, [
        key,
        interval,
      ]);
    await age('23 hours 59 minutes');
    expect(replayed(await create(sent, key))).toBe('true');
    await age('24 hours 1 minute');
    expect((await create(body(), key)).status).toBe(200);
  });

  it.each(['x'.repeat(256), 'é', 'tab\there', ''])('refuses the Idempotency-Key %j with 400', async (key) => {
    const answer = await create(body(), key);
    expect([answer.status, answer.body.errors]).toEqual([
      400,
      [expect.objectContaining({ parameter: 'Idempotency-Key', code: 'idempotency_key_invalid' })],
    ]);
  });

  it('reports an invalid Idempotency-Key together with all other faults, on every route that accepts the header', async () => {
    const record = await app.given.eligibility(scene);
    const bookings = `${path()}/${record['candidate'].candidate_id}/tests/${scene.testCode}/bookings`;
    const booking = await app.given.booking(scene, record);
    const one = `/accounts/${scene.account}/bookings/${booking['booking_code']}`;
    const operator = await app.given.operator();
    for (const [method, at, sent, token, fault] of [
      ['POST', path(), {}, scene.token, '/test_code required'],
      ['POST', path(), body({ portion_codes: ['NONE'] }), scene.token, '/portion_codes/0 portion_unknown'],
      ['POST', bookings, {}, scene.token, '/booking_on required'],
      ['PUT', one, {}, scene.token, '/booking_on required'],
      ['POST', `${one}/absence`, {}, scene.token, '/excused required'],
      ['DELETE', `${one}?x=1`, undefined, scene.token, 'x unknown_parameter'],
      ['POST', '/admin/error-queue/resend', {}, operator, '/reason required'],
    ] as const) {
      const headers = { 'idempotency-key': 'x'.repeat(256) };
      const answer = await app.call(method, at, { token, body: sent, headers });
      expect([method, at, answer.status, answer.body.code]).toEqual([method, at, 400, 'validation_error']);
      const faults = answer.body.errors.map((found: any) => `${found.parameter ?? found.pointer} ${found.code}`);
      expect(faults).toEqual(expect.arrayContaining(['Idempotency-Key idempotency_key_invalid', fault]));
    }
    const kept = await app.call('GET', one, { token: scene.token });
    expect(kept.body).toEqual(booking);
  });

  it('accepts 1 to 255 printable ASCII characters as an Idempotency-Key', async () => {
    for (const key of ['!', 'x'.repeat(255), `" {}~,;= ${newKey()}`]) {
      const sent = body();
      expect((await create(sent, key)).status).toBe(200);
      expect(replayed(await create(sent, key))).toBe('true');
    }
  });

  it('accepts an Idempotency-Key on every route that changes bookings, and executes each request once', async () => {
    const record = await app.given.eligibility(scene);
    const events = async () =>
      (
        await app.given.sql(`SELECT 1 FROM domain_events WHERE data ->> 'candidate_id' = $1`, [
          record['candidate'].candidate_id,
        ])
      ).length;
    const twice = async (method: string, at: string, sent?: unknown) => {
      const headers = { 'idempotency-key': newKey() };
      const [first, second] = [
        await app.call(method, at, { token: scene.token, body: sent, headers }),
        await app.call(method, at, { token: scene.token, body: sent, headers }),
      ];
      expect([second.status, second.body, replayed(first), replayed(second)]).toEqual([
        first.status,
        first.body,
        null,
        'true',
      ]);
      return first;
    };
    const booked = await twice(
      'POST',
      `${path()}/${record['candidate'].candidate_id}/tests/${scene.testCode}/bookings`,
      siteBooking(),
    );
    expect([booked.status, await events()]).toEqual([201, 1]);
    const booking = `/accounts/${scene.account}/bookings/${booked.body.booking_code}`;
    expect([
      (await twice('PUT', booking, { ...siteBooking(), location_name: 'Another room' })).status,
      await events(),
    ]).toEqual([200, 2]);
    expect([(await twice('DELETE', booking)).status, await events()]).toEqual([204, 3]);
    const again = await app.given.booking(scene, record);
    const absence = `/accounts/${scene.account}/bookings/${again['booking_code']}/absence`;
    expect([(await twice('POST', absence, { excused: false })).status, await events()]).toEqual([204, 5]);
  });

  it('treats requests with the same Idempotency-Key on two routes as different requests', async () => {
    const [key, sent] = [newKey(), body()];
    await create(sent, key);
    const answer = await app.call('DELETE', `/accounts/${scene.account}/bookings/ABCDEFGHJK`, {
      token: scene.token,
      headers: { 'idempotency-key': key },
    });
    expect(answer.body).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });

  describe('many simultaneous requests with an Idempotency-Key', () => {
    const bookingsOf = (record: Record<string, any>) =>
      `${path()}/${record['candidate'].candidate_id}/tests/${scene.testCode}/bookings`;
    const book = (record: Record<string, any>, key: string, sent: unknown = siteBooking()) =>
      app.call('POST', bookingsOf(record), { token: scene.token, body: sent, headers: { 'idempotency-key': key } });
    const records = (count: number) => Promise.all(Array.from({ length: count }, () => app.given.eligibility(scene)));
    const transactionsOf = async (table: string, column: string, values: string[]) =>
      (await app.given.sql(`SELECT DISTINCT xmin::text FROM ${table} WHERE ${column} = ANY ($1)`, [values])).length;

    it('writes the records and bookings of many requests in batches, and stores each response', async () => {
      const sent = Array.from({ length: 40 }, () => ({ key: newKey(), body: body() }));
      const created = await Promise.all(sent.map((one) => create(one.body, one.key)));
      expect(created.map(({ status }) => status)).toEqual(sent.map(() => 200));
      const ids = created.map((answer) => answer.body.svc_eligiblity_id as string);
      expect(await transactionsOf('eligibilities', 'svc_eligiblity_id', ids)).toBeLessThan(sent.length);
      const replays = await Promise.all(sent.map((one) => create(one.body, one.key)));
      expect(replays.map((answer) => [replayed(answer), answer.body])).toEqual(
        created.map((answer) => ['true', answer.body]),
      );
      const keys = sent.map(() => newKey());
      const one = siteBooking();
      const booked = await Promise.all(created.map((answer, n) => book(answer.body, keys[n], one)));
      expect(booked.map(({ status }) => status)).toEqual(sent.map(() => 201));
      const codes = booked.map((answer) => answer.body.booking_code as string);
      expect(await transactionsOf('bookings', 'booking_code', codes)).toBeLessThan(sent.length);
      const again = await Promise.all(created.map((answer, n) => book(answer.body, keys[n], one)));
      expect(again.map((answer) => [answer.status, replayed(answer), answer.body])).toEqual(
        booked.map((answer) => [201, 'true', answer.body]),
      );
    });

    it('executes a request with an Idempotency-Key once, however often the client sends it', async () => {
      const one = siteBooking();
      const all = (await records(10)).map((record) => ({ record, key: newKey() }));
      const answers = await Promise.all(
        [...all, ...all, ...all].map(async ({ record, key }) => ({ key, answer: await book(record, key, one) })),
      );
      for (const { record, key } of all) {
        const [first, ...others] = answers.filter((answer) => answer.key === key).map(({ answer }) => answer);
        for (const { status, body: said } of [first, ...others])
          expect(status === 201 || said.code === 'idempotency_key_in_use').toBe(true);
        const final = await book(record, key, one);
        expect([final.status, replayed(final)]).toEqual([201, 'true']);
        const of = `${path()}/${record['candidate'].candidate_id}/bookings`;
        expect((await app.call('GET', of, { token: scene.token })).body).toHaveLength(1);
      }
    });

    it('refuses only the failing request in a batch, and immediately accepts its Idempotency-Key again', async () => {
      const [refusedOne, ...others] = await records(20);
      await app.call('DELETE', `${path()}/${refusedOne['candidate'].candidate_id}/tests/${scene.testCode}`, {
        token: scene.token,
      });
      const key = newKey();
      const again = async () => {
        const refused = await book(refusedOne, key);
        return [refused, await book(others[0], key)];
      };
      const [[refused, retried], ...answers] = await Promise.all([
        again(),
        ...others.slice(1).map((record) => book(record, newKey())),
      ]);
      expect(refused.body).toMatchObject({ code: 'not_eligible_to_schedule' });
      expect(retried.status).toBe(201);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    });

    it('refuses only those requests in a batch that are invalid or whose record already exists', async () => {
      const taken = body();
      await create(taken, newKey());
      const unknownTest = { ...body(), test_code: 'UNKNOWN' };
      const sent = [body(), taken, body(), unknownTest, body(), body({ voucher_codes: ['NO-SUCH'] }), body()];
      const answers = await Promise.all(sent.map((one) => create(one, newKey())));
      expect(answers.map(({ status }) => status)).toEqual([200, 400, 200, 400, 200, 400, 200]);
      expect(answers[1].body).toMatchObject({ code: 'duplicate_eligibility' });
    });

    it('does not delay requests of other accounts while a request waits for a locked record', async () => {
      const there = await app.given.scene();
      const made = await app.given.eligibility(scene);
      const others = await Promise.all(Array.from({ length: 3 }, () => app.given.eligibility(there)));
      const ofCandidate = app.given.eligibilityBody(scene.testCode, { candidate: made['candidate'] });
      const release = await app.given.lock(
        `UPDATE eligibilities SET updated_datetime = updated_datetime WHERE svc_eligiblity_id = '${made['svc_eligiblity_id']}'`,
      );
      const since = performance.now();
      const filler = create(body(), newKey());
      const waiting = create(ofCandidate, newKey());
      const bookings = (record: Record<string, any>) =>
        `/accounts/${there.account}/candidates/${record['candidate'].candidate_id}/tests/${there.testCode}/bookings`;
      const answers = await Promise.all(
        others.map((record, n) =>
          app.call('POST', bookings(record), {
            token: there.token,
            body: siteBooking(),
            headers: n === 0 ? {} : { 'idempotency-key': newKey() },
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
      expect(performance.now() - since).toBeLessThan(3_500);
      await release();
      expect((await filler).status).toBe(200);
      expect((await waiting).body).toMatchObject({ code: 'duplicate_eligibility' });
    });

    it('simultaneous repetitions of a completed request get its stored response, not 409 idempotency_key_in_use', async () => {
      const [key, sent] = [newKey(), body()];
      expect((await create(sent, key)).status).toBe(200);
      const answers = await Promise.all(Array.from({ length: 12 }, () => create(sent, key)));
      expect(answers.map((answer) => [answer.status, replayed(answer)])).toEqual(answers.map(() => [200, 'true']));
    });

    it('executes the other requests in a batch while one request waits for a locked record', async () => {
      const [locked, ...others] = await records(8);
      const release = await app.given.lock(
        `SELECT 1 FROM eligibilities WHERE svc_eligiblity_id = '${locked['svc_eligiblity_id']}' FOR UPDATE`,
      );
      const waiting = book(locked, newKey());
      const answers = await Promise.all(others.map((record) => book(record, newKey())));
      expect(answers.map(({ status }) => status)).toEqual(others.map(() => 201));
      await release();
      expect((await waiting).status).toBe(201);
    });
  });
});
