import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';

/**
 * Tests the part "Of the candidate's exams without an account result" of section 7 of the contract. The part describes
 * PUT /accounts/{account_code}.
 */
let app: TestApp;
let deliveries: Deliveries;
let scene: Scene;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
  candidate = app.given.unique('C-');
});

const HOUR_MS = 3_600_000;
const hoursFromNow = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString().slice(0, 19) + 'Z';

/** Creates an exam of the candidate. Each call uses a new test. */
async function anExam(state: { bookedAt?: string; status?: string; candidate?: string } = {}): Promise<string> {
  const where = { ...scene, testCode: await app.given.test(scene.account) };
  const eligibility = await app.given.eligibility(where, { candidate: { candidate_id: state.candidate ?? candidate } });
  const id = eligibility['svc_eligiblity_id'] as string;
  if (state.bookedAt !== undefined)
    await app.given.booking(where, eligibility, { booking_on: state.bookedAt, allow_overlap: true });
  if (state.status === 'COMPLETED')
    expect((await deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: id } }))).status).toBe(
      200,
    );
  else if (state.status === 'EXPIRED')
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 hour' WHERE svc_eligiblity_id = $1`,
      [id],
    );
  else if (state.status === 'PENDING')
    await app.given.sql(`UPDATE eligibilities SET status = 'PENDING', hold_reason = 'x' WHERE svc_eligiblity_id = $1`, [
      id,
    ]);
  else if (state.status !== undefined)
    await app.given.sql('UPDATE eligibilities SET status = $2 WHERE svc_eligiblity_id = $1', [id, state.status]);
  return id;
}

async function accountResults(): Promise<string[]> {
  const rows = await app.given.sql(
    `SELECT svc_eligiblity_id FROM result_revisions WHERE account_code = $1 AND source = 'ACCOUNT' ORDER BY position`,
    [scene.account],
  );
  return rows.map((row) => row['svc_eligiblity_id'] as string);
}

/** Delivers an account result; returns the exam to which it was assigned, or the code of the refusal. */
async function deliver(changes: Record<string, unknown> = {}, candidateId: string | null = candidate): Promise<string> {
  const before = (await accountResults()).length;
  const answer = await deliveries.put(scene, accountBody(candidateId, { marker: app.given.unique('m'), ...changes }));
  const after = await accountResults();
  if (answer.status !== 200) {
    expect([answer.status, after.length]).toEqual([400, before]);
    return answer.body.code as string;
  }
  expect([answer.text, after.length]).toEqual(['', before + 1]);
  return after.at(-1)!;
}

describe('the result_id of an account result', () => {
  it('finds the exam of a result_id that the account has accepted before, if the candidate is the same or omitted', async () => {
    const id = await anExam();
    const result_id = app.given.unique('R-');
    expect(await deliver({ result_id })).toBe(id);
    await anExam();
    expect(await deliver({ result_id })).toBe(id);
    expect(await deliver({ result_id }, null)).toBe(id);
    expect((await deliveries.revisions(id)).map(({ revision }) => revision as number)).toEqual([1, 2, 3]);
  });

  it('returns result_id_conflict if the account has already accepted the result_id for another candidate', async () => {
    await anExam();
    const other = app.given.unique('C-');
    await anExam({ candidate: other });
    const result_id = app.given.unique('R-');
    await deliver({ result_id });
    expect(await deliver({ result_id }, other)).toBe('result_id_conflict');
    expect(await deliver({ result_id }, 'UNKNOWN')).toBe('result_id_conflict');
  });

  it('a result_id that only another account has used counts as unknown', async () => {
    const result_id = app.given.unique('R-');
    await anExam();
    await deliver({ result_id });
    scene = await app.given.scene();
    const id = await anExam();
    expect(await deliver({ result_id }, null)).toBe('candidate_exam_not_found');
    expect(await deliver({ result_id })).toBe(id);
  });

  it('compares the result_id of an account result exactly, including upper and lower case', async () => {
    const first = await anExam();
    const second = await anExam({ bookedAt: hoursFromNow(5) });
    const result_id = app.given.unique('r-');
    expect(await deliver({ result_id })).toBe(second);
    expect(await deliver({ result_id: result_id.toUpperCase() })).toBe(first);
  });

  it('accepts a result_id for only one of two candidates when it is sent for both at the same moment', async () => {
    await anExam();
    const other = app.given.unique('C-');
    await anExam({ candidate: other });
    const result_id = app.given.unique('R-');
    const answers = await Promise.all(
      [candidate, other].map((id) => deliveries.put(scene, accountBody(id, { result_id }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(answers.find(({ status }) => status === 400)!.body.code).toBe('result_id_conflict');
    expect(await accountResults()).toHaveLength(1);
  });
});

describe('the candidate_id of an account result', () => {
  it('returns candidate_exam_not_found for an account result with a missing or unknown candidate_id', async () => {
    await anExam();
    expect(await deliver({}, null)).toBe('candidate_exam_not_found');
    expect(await deliver({}, '')).toBe('candidate_exam_not_found');
    expect(await deliver({ candidate_id: null }, null)).toBe('candidate_exam_not_found');
    expect(await deliver({ result_id: app.given.unique('R-') }, null)).toBe('candidate_exam_not_found');
    expect(await deliver({}, 'UNKNOWN')).toBe('candidate_exam_not_found');
    expect(await accountResults()).toEqual([]);
  });

  it('treats a candidate_id of another account as unknown', async () => {
    await anExam();
    scene = await app.given.scene();
    expect(await deliver()).toBe('candidate_exam_not_found');
  });
});

describe("the order in which the candidate's exams are searched", () => {
  it("searches the candidate's exams in the order (a) COMPLETED, (b) SCHEDULED in the past, (c) SCHEDULED in the future, (d) all others", async () => {
    const future = await anExam({ bookedAt: hoursFromNow(2) });
    const open = await anExam();
    const past = await anExam({ bookedAt: hoursFromNow(-2) });
    const completed = await anExam({ bookedAt: hoursFromNow(-9), status: 'COMPLETED' });
    const went = [await deliver(), await deliver(), await deliver(), await deliver(), await deliver()];
    expect(went).toEqual([completed, past, future, open, 'candidate_exam_not_found']);
  });

  it.each([['ELIGIBLE'], ['PENDING'], ['EXPIRED'], ['ABSENT']])(
    'assigns an account result to an exam with the status %s and without a booking if the candidate has no other exam',
    async (status) => {
      const id = await anExam(status === 'ELIGIBLE' ? {} : { status });
      expect(await deliver()).toBe(id);
      expect(await deliveries.status(id)).toBe('COMPLETED');
      expect(await deliveries.completions(id)).toBe(1);
    },
  );

  it('assigns account results to completed exams before booked ones, and to the latest booking_on first', async () => {
    const early = await anExam({ bookedAt: hoursFromNow(-9), status: 'COMPLETED' });
    const late = await anExam({ bookedAt: hoursFromNow(-1), status: 'COMPLETED' });
    const soon = await anExam({ bookedAt: hoursFromNow(1) });
    const later = await anExam({ bookedAt: hoursFromNow(9) });
    const went = [await deliver(), await deliver(), await deliver(), await deliver()];
    expect(went).toEqual([late, early, later, soon]);
  });

  it('an account result is refused with candidate_exam_ambiguous when two exams have the same booking_on', async () => {
    const bookedAt = hoursFromNow(3);
    const exams = [await anExam({ bookedAt }), await anExam({ bookedAt })];
    expect(await deliver()).toBe('candidate_exam_ambiguous');
    for (const id of exams) expect(await deliveries.status(id)).toBe('SCHEDULED');
  });

  it('returns candidate_exam_ambiguous for an account result if several exams were neither taken nor booked', async () => {
    await anExam({ status: 'ABSENT' });
    await anExam({ status: 'EXPIRED' });
    expect(await deliver()).toBe('candidate_exam_ambiguous');
  });

  it('an account result is refused with candidate_exam_not_found when all of the candidate’s exams are cancelled or have results', async () => {
    await anExam({ status: 'CANCELLED' });
    expect(await deliver()).toBe('candidate_exam_not_found');
    const id = await anExam();
    expect(await deliver()).toBe(id);
    expect(await deliver()).toBe('candidate_exam_not_found');
  });
});

describe('an account result without result_id', () => {
  it('recognises a repeated account result without a result_id by its body, and answers it with 200', async () => {
    const first = await anExam();
    const body = accountBody(candidate);
    expect((await deliveries.put(scene, body)).status).toBe(200);
    const second = await anExam();
    expect((await deliveries.put(scene, body)).status).toBe(200);
    expect((await deliveries.put(scene, { ...body, extra: null, result_id: null })).status).toBe(200);
    expect(await accountResults()).toEqual([first, second]);
    expect(await deliveries.status(second)).toBe('COMPLETED');
  });

  it('treats result bodies that differ only in the order of members as the same', async () => {
    const id = await anExam();
    const body = accountBody(candidate);
    await deliveries.put(scene, body);
    await deliveries.put(scene, Object.fromEntries(Object.entries(body).reverse()));
    expect(await deliveries.revisions(id)).toHaveLength(1);
  });
});

it('returns 200 for twenty identical simultaneous account results, and stores one result and one event', async () => {
  for (const result_id of [undefined, app.given.unique('R-')]) {
    const id = await anExam({ bookedAt: hoursFromNow(-1) });
    await anExam();
    const body = accountBody(candidate, { result_id, marker: app.given.unique('m') });
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliveries.put(scene, body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await deliveries.revisions(id)).toHaveLength(1);
    expect(await deliveries.completions(id)).toBe(1);
    candidate = app.given.unique('C-');
  }
  expect(await accountResults()).toHaveLength(2);
});

it('stores twenty simultaneous account results with one result_id and different bodies, and raises one event', async () => {
  const id = await anExam();
  const result_id = app.given.unique('R-');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      deliveries.put(scene, accountBody(candidate, { result_id, overall_score_scaled: i })),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const revisions = await deliveries.revisions(id);
  expect(revisions.map(({ revision }) => revision as number)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  expect(new Set(revisions.map(({ body }) => body as string)).size).toBe(20);
  expect(await deliveries.completions(id)).toBe(1);
});

it('assigns two different account results that arrive at the same time to two exams, never both to the same exam', async () => {
  const exams = [await anExam({ bookedAt: hoursFromNow(-1) }), await anExam({ bookedAt: hoursFromNow(-2) })];
  const answers = await Promise.all([1, 2].map((n) => deliveries.put(scene, accountBody(candidate, { n }))));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect((await accountResults()).sort()).toEqual(exams.sort());
});

describe('permission to deliver account results', () => {
  it('delivering account results requires a token with the results scope for the account', async () => {
    const body = accountBody(candidate);
    expect((await app.call('PUT', `/accounts/${scene.account}`, { body })).status).toBe(401);
    const token = await app.given.token([scene.account], ['update']);
    expect((await deliveries.put({ ...scene, token }, body)).body.code).toBe('insufficient_scope');
    const stranger = (await app.given.scene()).token;
    expect((await deliveries.put({ ...scene, token: stranger }, body)).body.code).toBe('account_forbidden');
    expect((await deliveries.put({ account: 'NOWHERE', token: stranger }, body)).body.code).toBe('account_forbidden');
    const operator = await app.given.operator();
    expect((await deliveries.put({ account: 'NOWHERE', token: operator }, body)).body.code).toBe('account_not_found');
    const id = await anExam();
    expect((await deliveries.put({ ...scene, token: operator }, body)).status).toBe(200);
    expect(await deliveries.status(id)).toBe('COMPLETED');
  });
});
