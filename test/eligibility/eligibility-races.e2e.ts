import { CommandBus } from '@nestjs/cqrs';
import { CompleteExam } from '../../src/bookings/bookings.commands';
import { examPath } from '../support/answers';
import { startApp, type Answer, type TestApp } from '../support/app';
import { siteBooking } from '../support/given';

let app: TestApp;
let second: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

// Two instances of the service share one database, so that an in-memory lock in one process cannot prevent the races.
beforeAll(async () => {
  app = await startApp();
  second = await startApp({ databaseUrl: app.databaseUrl });
  scene = await app.given.scene();
});
afterAll(async () => {
  await second.close();
  await app.close();
});

type Record_ = Record<string, any>;

const ROUNDS = 8;
const call = (at: number, method: string, path: string, body?: unknown, headers = {}) =>
  (at % 2 === 0 ? app : second).call(method, path, { token: scene.token, body, headers });
const candidates = () => `/accounts/${scene.account}/candidates`;
const at20 = (request: (at: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: 20 }, (_, at) => request(at)));
const tally = (answers: Answer[]) => {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 400 ? String(status) : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};
const one = async (text: string, value: unknown) => (await app.given.sql(text, [value]))[0] as Record_;

describe('§5 races, on two applications and one database', () => {
  it('20 identical simultaneous create requests produce one record, one 200 response and 19 refusals', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const body = app.given.eligibilityBody(scene.testCode, { client_eligibility_id: app.given.unique('EL-') });
      const answers = await at20((at) => call(at, 'POST', candidates(), body));
      expect(tally(answers)).toEqual({ '200': 1, '400 duplicate_eligibility': 19 });
      const winner = answers.find((answer) => answer.status === 200)!.body.svc_eligiblity_id as string;
      for (const answer of answers) expect(answer.body.svc_eligiblity_id).toBe(winner);
    }
  });

  it('of 20 simultaneous create requests with one client_eligibility_id for 20 candidates, only one gets 200', async () => {
    const client_eligibility_id = app.given.unique('EL-');
    const answers = await at20((at) =>
      call(at, 'POST', candidates(), app.given.eligibilityBody(scene.testCode, { client_eligibility_id })),
    );
    expect(tally(answers)).toEqual({ '200': 1, '400 client_eligibility_id_in_use': 19 });
  });

  it('of 20 simultaneous create requests for a candidate with an expired record, only one gets 200', async () => {
    const body = app.given.eligibilityBody(scene.testCode);
    const old = await app.given.eligibility(scene, body);
    await app.given.sql('UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1', [
      old['svc_eligiblity_id'],
    ]);
    expect(tally(await at20((at) => call(at, 'POST', candidates(), body)))).toEqual({
      '200': 1,
      '400 duplicate_eligibility': 19,
    });
  });

  it('simultaneous bookings each have their own event, audit row and feed entry, and do not wait for an unrelated locked record', async () => {
    const records = await Promise.all(Array.from({ length: 20 }, () => app.given.eligibility(scene)));
    const [held, over, ...free] = records;
    await app.given.sql('UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1', [
      over['svc_eligiblity_id'],
    ]);
    const release = await app.given.lock(
      `SELECT FROM eligibilities WHERE svc_eligiblity_id = '${held['svc_eligiblity_id']}' FOR UPDATE`,
    );
    const book = (record: Record_, at: number) =>
      call(0, 'POST', `${examPath(scene, record)}/bookings`, siteBooking(), { 'x-request-id': `together-${at}` });
    let waits = true;
    const ofHeld = book(held, 0).then((answer) => {
      waits = false;
      return answer;
    });
    const answers = await Promise.all([over, ...free].map((record, at) => book(record, at + 1))).finally(() => {
      expect(waits).toBe(true);
      return release();
    });
    expect(tally(answers)).toEqual({ '201': 18, '403 not_eligible_to_schedule': 1 });
    expect((await ofHeld).status).toBe(201);
    const rows = await app.given.sql(
      `SELECT e.status, b.status AS booking, (SELECT count(*)::int FROM domain_events WHERE stream = b.booking_code) AS events,
         (SELECT count(*)::int FROM changes c WHERE c.booking_code = b.booking_code AND c.notification ->> 'candidate_id' = e.candidate_id) AS fed,
         (SELECT array_agg(request_id) FROM audit_log WHERE subject = b.booking_code) AS asked_by
       FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, at) JOIN eligibilities e ON e.svc_eligiblity_id = asked.id
       LEFT JOIN bookings b USING (svc_eligiblity_id) ORDER BY at`,
      [[held, ...free].map((record) => record['svc_eligiblity_id'] as string)],
    );
    expect(rows).toEqual(
      [0, ...free.map((_, at) => at + 2)].map((at) => ({
        status: 'SCHEDULED',
        booking: 'BOOKED',
        events: 1,
        fed: 1,
        asked_by: [`together-${at}`],
      })),
    );
    const shared = await app.given.sql(
      'SELECT count(DISTINCT xmin::text)::int AS transactions FROM bookings WHERE svc_eligiblity_id = ANY ($1)',
      [free.map((record) => record['svc_eligiblity_id'] as string)],
    );
    expect((shared[0] as { transactions: number }).transactions).toBeLessThan(free.length);
  });

  it('only one of 20 simultaneous redemptions of a one-use voucher is accepted, by POST, by update or by the vouchers route', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const code = await app.given.voucher(scene.account);
      const records = await Promise.all(Array.from({ length: 14 }, () => app.given.eligibility(scene)));
      const answers = await at20((at) => {
        const record = records[at];
        if (!record)
          return call(at, 'POST', candidates(), app.given.eligibilityBody(scene.testCode, { voucher_codes: [code] }));
        return at % 3 === 0
          ? call(at, 'PUT', examPath(scene, record), { ...record, voucher_codes: [code] })
          : call(at, 'PUT', `${examPath(scene, record)}/vouchers`, [code]);
      });
      expect(answers.filter((answer) => answer.status < 300)).toHaveLength(1);
      expect(answers.filter((answer) => answer.body?.errors?.[0].code === 'voucher_exhausted')).toHaveLength(19);
      expect(
        await one(
          `SELECT uses, (SELECT count(*) FROM voucher_redemptions r WHERE r.voucher_code = v.voucher_code) AS redemptions
           FROM vouchers v WHERE voucher_code = $1`,
          code,
        ),
      ).toEqual({ uses: 1, redemptions: 1 });
    }
  });

  it('simultaneous swaps of vouchers cause no deadlock, and each voucher’s uses equal its redemptions', async () => {
    const codes = await Promise.all(Array.from({ length: 6 }, () => app.given.voucher(scene.account, { max_uses: 3 })));
    const records = await Promise.all(Array.from({ length: 5 }, () => app.given.eligibility(scene)));
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await at20((at) => {
        const order = [...codes].sort(() => Math.sin(at * 7 + round) - 0.2);
        return call(at, 'PUT', `${examPath(scene, records[at % 5])}/vouchers`, order.slice(0, at % 6));
      });
      for (const answer of answers) expect([204, 400]).toContain(answer.status);
    }
    const rows = await app.given.sql(
      `SELECT uses, (SELECT count(*) FROM voucher_redemptions r WHERE r.voucher_code = v.voucher_code) AS redemptions
       FROM vouchers v WHERE voucher_code = ANY ($1)`,
      [codes],
    );
    for (const row of rows) expect([row['uses'], row['uses'] <= 3]).toEqual([row['redemptions'], true]);
  });

  it('of two simultaneous bookings of a record, one is accepted and raises one event, and the other gets 403', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const record = await app.given.eligibility(scene);
      const answers = await Promise.all(
        [0, 1].map((at) => call(at, 'POST', `${examPath(scene, record)}/bookings`, siteBooking())),
      );
      expect(tally(answers)).toEqual({ '201': 1, '403 not_eligible_to_schedule': 1 });
      expect(
        await one(
          `SELECT status, (SELECT count(*) FROM bookings b WHERE b.svc_eligiblity_id = e.svc_eligiblity_id) AS bookings,
             (SELECT count(*) FROM domain_events d WHERE d.data ->> 'candidate_id' = e.candidate_id) AS events
           FROM eligibilities e WHERE svc_eligiblity_id = $1`,
          record['svc_eligiblity_id'],
        ),
      ).toEqual({ status: 'SCHEDULED', bookings: 1, events: 1 });
    }
  });

  it('a cancellation and a simultaneous booking of a record are never both accepted', async () => {
    for (let round = 0; round < 2 * ROUNDS; round++) {
      const record = await app.given.eligibility(scene);
      const [booked, cancelled] = await Promise.all([
        call(round, 'POST', `${examPath(scene, record)}/bookings`, siteBooking()),
        call(round + 1, 'DELETE', examPath(scene, record)),
      ]);
      const row = await one(
        `SELECT status, (SELECT count(*) FROM bookings b WHERE b.svc_eligiblity_id = e.svc_eligiblity_id) AS bookings
         FROM eligibilities e WHERE svc_eligiblity_id = $1`,
        record['svc_eligiblity_id'],
      );
      if (booked.status === 201) {
        expect([cancelled.status, cancelled.body.code, row]).toEqual([
          403,
          'eligibility_booked',
          { status: 'SCHEDULED', bookings: 1 },
        ]);
      } else {
        expect([booked.status, booked.body.code]).toEqual([403, 'not_eligible_to_schedule']);
        expect([cancelled.status, row]).toEqual([204, { status: 'CANCELLED', bookings: 0 }]);
      }
    }
  });

  it('if a cancellation, an absence and its excuse arrive together, only one succeeds, or both the absence and the excuse do', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const booking = await app.given.booking(scene, await app.given.eligibility(scene));
      const path = `/accounts/${scene.account}/bookings/${booking['booking_code']}`;
      const answers = await Promise.all([
        call(0, 'DELETE', path),
        call(1, 'POST', `${path}/absence`, { excused: false }),
        call(0, 'POST', `${path}/absence`, { excused: true }),
      ]);
      const [cancelled, missed, excused] = answers.map(({ status }) => status === 204);
      const done = missed && excused ? 2 : 1;
      expect(cancelled && done === 2).toBe(false);
      expect(tally(answers)).toEqual({ '204': done, '403 booking_closed': 3 - done });
      expect(
        await one('SELECT count(*) AS events FROM domain_events WHERE stream = $1', booking['booking_code']),
      ).toEqual({ events: 1 + done });
    }
  });

  it('an update that races with a result is answered with 204 or 403, never 500; the record is COMPLETED once, with the whole update or none of it', async () => {
    for (let round = 0; round < 2 * ROUNDS; round++) {
      const record = await app.given.eligibility(scene);
      if (round % 2 === 0) await app.given.booking(scene, record);
      const id = record['svc_eligiblity_id'] as string;
      const complete = (side: TestApp) => side.app.get(CommandBus, { strict: false }).execute(new CompleteExam(id, 1));
      const [updated] = await Promise.all([
        call(round, 'PUT', examPath(scene, record), {
          ...record,
          candidate: { ...record['candidate'], city: 'Troy', suffix: 'II' },
        }),
        complete(app),
        complete(second),
      ]);
      const row = await one(
        `SELECT status, city, suffix,
           (SELECT count(*) FROM domain_events d WHERE d.data ->> 'candidate_id' = e.candidate_id AND d.name = 'booking.exam-completed') AS events
         FROM eligibilities e WHERE svc_eligiblity_id = $1`,
        id,
      );
      if (updated.status === 204) expect(row).toEqual({ status: 'COMPLETED', city: 'Troy', suffix: 'II', events: 1 });
      else {
        expect([updated.status, updated.body.code]).toEqual([403, 'eligibility_closed']);
        expect(row).toEqual({ status: 'COMPLETED', city: null, suffix: null, events: 1 });
      }
    }
  });

  it('20 simultaneous updates of one record are all answered with 204, and the record has the values of exactly one update', async () => {
    const record = await app.given.eligibility(scene);
    const answers = await at20((at) =>
      call(at, 'PUT', examPath(scene, record), {
        ...record,
        candidate: { ...record['candidate'], city: `c${at}`, suffix: `c${at}` },
      }),
    );
    expect(tally(answers)).toEqual({ '204': 20 });
    const row = await one(
      'SELECT city, suffix FROM eligibilities WHERE svc_eligiblity_id = $1',
      record['svc_eligiblity_id'],
    );
    expect(row['city']).toBe(row['suffix']);
  });

  it('an update that revives an expired record and a simultaneous create request leave only one open record', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const body = app.given.eligibilityBody(scene.testCode);
      const record = await app.given.eligibility(scene, body);
      await app.given.sql('UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1', [
        record['svc_eligiblity_id'],
      ]);
      const answers = await Promise.all([
        call(round, 'PUT', examPath(scene, record), body),
        call(round + 1, 'POST', candidates(), body),
      ]);
      expect(answers[0].status).toBe(204);
      expect([200, 400]).toContain(answers[1].status);
      const row = await one(
        `SELECT count(*) AS live FROM eligibilities WHERE candidate_id = $1 AND status = 'ELIGIBLE' AND eligibility_end_date > now()`,
        body['candidate'].candidate_id,
      );
      expect(row).toEqual({ live: 1 });
    }
  });

  it('§5 20 create requests with one Idempotency-Key produce one record; the other 19 replay the first response or get 409 idempotency_key_in_use', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const body = app.given.eligibilityBody(scene.testCode);
      const key = app.given.unique('key-');
      const answers = await at20((at) => call(at, 'POST', candidates(), body, { 'idempotency-key': key }));
      const done = answers.filter((answer) => answer.status === 200);
      expect(new Set(done.map((answer) => answer.body.svc_eligiblity_id as string)).size).toBe(1);
      expect(done.filter((answer) => answer.headers.get('idempotency-replayed') === null)).toHaveLength(1);
      for (const answer of answers)
        if (answer.status !== 200) expect([answer.status, answer.body.code]).toEqual([409, 'idempotency_key_in_use']);
    }
  });
});
