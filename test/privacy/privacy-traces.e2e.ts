import { randomUUID } from 'node:crypto';
import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';

let app: TestApp;
let deliveries: Deliveries;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
  operator = await app.given.operator();
});
afterAll(() => app.close());

const admin = (method: string, path: string, body?: object) =>
  app.call(method, `/admin/${path}`, { token: operator, body });

async function begin(account: string, id: string, reason = 'asked for'): Promise<string> {
  const { body } = await admin('POST', `accounts/${account}/candidates/${encodeURIComponent(id)}/erase`, { reason });
  return body.job_id as string;
}

const done = (jobId: string) =>
  eventually(async () => {
    const { body } = await admin('GET', `jobs/${jobId}`);
    expect(body.state).toBe('DONE');
    return body;
  });
const erase = async (account: string, id: string, reason?: string) => done(await begin(account, id, reason));

/** Returns the names of the database tables in which a value occurs. */
async function whereIs(value: string): Promise<string[]> {
  const tables = await app.given.sql(
    `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm') ORDER BY relname`,
  );
  const found: string[] = [];
  for (const { relname } of tables)
    if (
      (await app.given.sql(`SELECT 1 FROM ${relname} row WHERE strpos(lower(row::text), lower($1)) > 0`, [value]))
        .length
    )
      found.push(relname as string);
  return found;
}

/** Returns a name and an id that no other data contains. */
function person() {
  const mark = randomUUID().slice(0, 8);
  return { id: `P-${mark}.x`, first: `First${mark}`, last: `Last${mark}`, mark };
}

async function known(changes: object = {}) {
  const scene = await app.given.scene();
  const who = person();
  const record = await app.given.eligibility(scene, {
    ...changes,
    candidate: { candidate_id: who.id, first_name: who.first, last_name: who.last, email: `${who.mark}@example.org` },
  });
  return { scene, who, svcId: record['svc_eligiblity_id'] as string, record };
}

const keptMarkers = async () =>
  (await app.given.sql(`SELECT body::json->>'marker' AS marker FROM unmatched_results`)).map(({ marker }) => marker);

describe('an erasure', () => {
  it('an erasure also removes the stored response to a request that had no body', async () => {
    const { scene, who, record } = await known();
    const booking = await app.given.booking(scene, record as any);
    const key = `cancel-${randomUUID()}`;
    const path = `/accounts/${scene.account}/bookings/${booking['booking_code']}`;
    const cancelled = await app.call('DELETE', path, { token: scene.token, headers: { 'idempotency-key': key } });
    expect([cancelled.status, cancelled.text]).toEqual([204, '']);
    expect(await whereIs(key)).toEqual(['idempotency_keys']);
    await erase(scene.account, who.id);
    expect(await whereIs(key)).toEqual([]);
  });

  it("an erasure removes the candidate's names from the reasons of jobs, holds, rejections and the erasure itself, and keeps other reasons", async () => {
    const { scene, who } = await known();
    const other = await app.given.eligibility(scene);
    const held = await app.given.eligibility(scene);
    const scheduled = await app.given.eligibility(scene);
    await app.given.booking(scene, scheduled);
    const hold = (id: unknown, reason: string) => admin('POST', `eligibilities/${String(id)}/hold`, { reason });
    await hold(other['svc_eligiblity_id'], `The same as ${who.first} ${who.last}.`);
    await hold(held['svc_eligiblity_id'], 'A document is missing.');
    await hold(scheduled['svc_eligiblity_id'], `Takes the exam instead of ${who.last}.`);
    await deliveries.register(
      scene.token,
      registrationBody({ marker: who.mark, examMetaData: { examCode: 'NOBODY' } }),
    );
    const [{ id }] = await app.given.sql(`SELECT id FROM unmatched_results WHERE body::json->>'marker' = $1`, [
      who.mark,
    ]);
    await admin('POST', `unmatched-results/${id}/reject`, { reason: `Not of ${who.id.toUpperCase()}` });
    const resolve = async (reason: string) =>
      (await admin('POST', 'error-queue/resolve', { filter: { account_code: scene.account }, reason })).body.job_id;
    const naming = await resolve(`${who.last} asked for it`);
    const plain = await resolve('settled by telephone');
    const job = await erase(scene.account, who.id, `asked for by ${who.first}`);
    expect(job.reason).toBe('erased');
    expect((await admin('GET', `jobs/${naming}`)).body.reason).toBe('erased');
    expect((await admin('GET', `jobs/${plain}`)).body.reason).toBe('settled by telephone');
    const reasons = await app.given.sql(
      'SELECT hold_reason FROM eligibilities WHERE account_code = $1 AND hold_reason IS NOT NULL ORDER BY position',
      [scene.account],
    );
    expect(reasons.map((row) => row['hold_reason'])).toEqual(['erased', 'A document is missing.', 'erased']);
    for (const value of [who.first, who.last, who.id]) expect(await whereIs(value)).toEqual([]);
  });

  it('an erasure removes unmatched results whose candidate id differs only in whitespace, case or punctuation, and keeps all others', async () => {
    const { scene, who, svcId } = await known();
    const put = (marker: string, candidateId: string) =>
      deliveries.put(scene, accountBody(candidateId, { marker: `${who.mark}-${marker}` }));
    const similar = who.id.replace('-', '').toUpperCase();
    await app.given.eligibility(scene, { candidate: { candidate_id: `${who.id}/`.replace('/', '_') } });
    expect((await put('own', ` ${similar} `)).status).toBe(400);
    expect((await put('else', `${who.id}9`)).status).toBe(400);
    await deliveries.register(
      scene.token,
      registrationBody({ marker: `${who.mark}-code`, examMetaData: { examCode: ` ${svcId.toLowerCase()}.` } }),
    );
    await erase(scene.account, who.id);
    expect((await keptMarkers()).filter((marker) => marker?.startsWith(who.mark))).toEqual([`${who.mark}-else`]);
  });

  it('an erasure lists unmatched results that match the candidate only by name, and a second request erases them', async () => {
    const { scene, who } = await known();
    const named = (marker: string, changes: object) =>
      deliveries.register(scene.token, registrationBody({ marker: `${who.mark}-${marker}`, ...changes }));
    await named('name', { examTakerFirstName: who.first.toUpperCase(), examTakerLastName: ` ${who.last}` });
    await named('text', { overAllComments: `${who.first} ${who.last} looked away.` });
    await named('first', { examTakerFirstName: who.first });
    const job = await erase(scene.account, who.id);
    expect(job.unmatched_results).toHaveLength(2);
    expect(await whereIs(who.last)).toEqual(['unmatched_results']);
    const path = `jobs/${job.job_id}/unmatched-results/erase`;
    const refused = await admin('POST', path, { unmatched_results: [randomUUID()] });
    expect([refused.status, refused.body.errors[0].code]).toEqual([400, 'not_listed']);
    expect(
      (
        await admin('POST', `jobs/${randomUUID()}/unmatched-results/erase`, {
          unmatched_results: job.unmatched_results,
        })
      ).status,
    ).toBe(404);
    expect((await admin('POST', path, { unmatched_results: job.unmatched_results })).status).toBe(204);
    expect(await whereIs(who.last)).toEqual([]);
    expect((await admin('GET', `jobs/${job.job_id}`)).body.unmatched_results).toEqual([]);
    expect((await keptMarkers()).filter((marker) => marker?.startsWith(who.mark))).toEqual([`${who.mark}-first`]);
    const audit = await admin('GET', `audit?action=unmatched-result.erase&subject=${job.unmatched_results[0]}`);
    expect(audit.body).toMatchObject([{ account_code: scene.account }]);
  });

  it('repeated erasures of a candidate add only one entry to the change feed', async () => {
    const { scene, who } = await known();
    const path = `accounts/${scene.account}/candidates/${encodeURIComponent(who.id)}/erase`;
    const calls = await Promise.all(Array.from({ length: 5 }, () => admin('POST', path, { reason: 'asked for' })));
    // The first erasure may end before the last request arrives. The last request then finds no candidate with the
    // given id.
    for (const { status } of calls) expect([202, 404]).toContain(status);
    const begun = calls.filter(({ status }) => status === 202);
    expect(begun).not.toHaveLength(0);
    for (const { body } of begun) await done(body.job_id);
    const [{ candidate_id }] = await app.given.sql('SELECT candidate_id FROM eligibilities WHERE account_code = $1', [
      scene.account,
    ]);
    for (const job of await Promise.all(Array.from({ length: 3 }, () => begin(scene.account, candidate_id as string))))
      await done(job);
    await app.given.settled();
    const feed = await app.call('GET', `/accounts/${scene.account}/changes?limit=200`, { token: scene.token });
    expect(feed.body.filter((entry: any) => entry.change === 'ERASED')).toMatchObject([{ candidate_id }]);
    const audit = await app.given.sql(
      `SELECT 1 FROM audit_log WHERE action = 'candidate.erase' AND account_code = $1`,
      [scene.account],
    );
    expect(audit).toHaveLength(1);
  });
});

describe('a result for an erased record', () => {
  const secret = (mark: string) => ({
    examTakerFirstName: `Late${mark}`,
    examTakerEmail: `late${mark}@example.org`,
    userPhotoBase64String: Buffer.from(`photo${mark}`).toString('base64'),
    videoReviewLink: `https://v.example/${mark}`,
    examApiData: { examPassword: `word${mark}`, duration: 77 },
    note: `note${mark}`,
  });

  it('a revised registration result for an erased record is stored without personal data, photo or video link', async () => {
    const { scene, who, svcId } = await known();
    const meta = { examCode: svcId, extRecordLocator: `Loc${who.mark}` };
    await deliveries.register(scene.token, registrationBody({ examMetaData: meta }));
    await erase(scene.account, who.id);
    const revised = registrationBody({ examMetaData: meta, reviewStatus: 'Breach', ...secret(who.mark) });
    const delivered = await deliveries.register(scene.token, revised);
    expect([delivered.status, delivered.text]).toEqual([200, '']);
    expect((await deliveries.register(scene.token, revised)).status).toBe(200);
    const byLocator = registrationBody({
      ...revised,
      examMetaData: { extRecordLocator: meta.extRecordLocator },
      reviewStatus: 'Clean',
    });
    expect((await deliveries.register(scene.token, byLocator)).status).toBe(200);
    const revisions = await deliveries.revisions(svcId);
    expect(revisions).toHaveLength(3);
    expect(revisions[1]).toMatchObject({ photo: null, video_link: null, credentials: null });
    expect(JSON.parse(revisions[1]['body'] as string)).toMatchObject({
      reviewStatus: 'Breach',
      examApiData: { duration: 77 },
    });
    expect(await whereIs(who.mark)).toEqual([]);
  });

  it('a revised account result is stored without personal data if its result_id belongs to an erased record', async () => {
    const { scene, who, svcId } = await known();
    const body = accountBody(who.id, { result_id: `R${who.mark}` });
    expect((await deliveries.put(scene, body)).status).toBe(200);
    await erase(scene.account, who.id);
    expect(await whereIs(who.mark)).toEqual([]);
    const revised = await deliveries.put(scene, { ...body, ...secret(who.mark), overall_score_scaled: 700 });
    expect([revised.status, revised.text]).toEqual([200, '']);
    const revisions = await deliveries.revisions(svcId);
    expect(JSON.parse(revisions[1]['body'] as string)).toMatchObject({ overall_score_scaled: 700 });
    expect(await whereIs(who.mark)).toEqual([]);
  });

  it('an unmatched result that an operator accepts for an erased record is stored without personal data', async () => {
    const { scene, who, svcId } = await known();
    await deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: svcId } }));
    await erase(scene.account, who.id);
    const body = registrationBody({
      ...secret(who.mark),
      examMetaData: { examCode: 'NOBODY', extRecordLocator: `Loc${who.mark}` },
    });
    expect((await deliveries.register(scene.token, body)).status).toBe(400);
    const [{ id }] = await app.given.sql(`SELECT id FROM unmatched_results WHERE body LIKE '%' || $1 || '%'`, [
      `note${who.mark}`,
    ]);
    const accepted = await admin('POST', `unmatched-results/${id}/accept`, { svc_eligiblity_id: svcId });
    expect([accepted.status, accepted.text]).toEqual([204, '']);
    expect(await deliveries.revisions(svcId)).toHaveLength(2);
    expect(await whereIs(who.mark)).toEqual([]);
  });

  it('a result that arrives while its record is being erased is stored without personal data', async () => {
    for (let round = 0; round < 6; round++) {
      const { scene, who, svcId } = await known();
      await deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: svcId } }));
      const body = registrationBody({ ...secret(who.mark), examMetaData: { examCode: svcId } });
      const [, delivered] = await Promise.all([
        begin(scene.account, who.id).then(done),
        deliveries.register(scene.token, body),
      ]);
      expect(delivered.status).toBe(200);
      expect(await deliveries.revisions(svcId)).toHaveLength(2);
      expect(await whereIs(who.mark)).toEqual([]);
    }
  });

  it('the service stores no personal data from a result for a record that an erasure cancels', async () => {
    for (let round = 0; round < 3; round++) {
      const { scene, who, svcId } = await known();
      const body = registrationBody({ ...secret(who.mark), examMetaData: { examCode: svcId } });
      const job = await begin(scene.account, who.id);
      if (round === 0) await done(job);
      const delivered = await deliveries.register(scene.token, body);
      if (round === 0) expect(delivered.status).toBe(400);
      await done(job);
      expect(await whereIs(who.mark)).toEqual([]);
    }
  });
});
