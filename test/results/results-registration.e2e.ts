import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody, type Scene } from '../support/deliveries';

/**
 * Tests the part "Match, among the caller's accounts" of section 7 of the contract. The part describes POST
 * /registrations/registration/results.
 */
let app: TestApp;
let deliveries: Deliveries;
let scene: Scene;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
});

const anExam = async (changes: Parameters<typeof app.given.eligibility>[1] = {}, where = scene) =>
  (await app.given.eligibility(where, changes))['svc_eligiblity_id'] as string;
const aLocator = () => app.given.unique('Loc-');

/** Delivers a registration result; returns the exam to which it was assigned, or the code of the refusal. */
async function deliver(body: Record<string, unknown>, token = scene.token): Promise<string> {
  const before = await newestRevision();
  const answer = await deliveries.register(token, registrationBody({ ...body, marker: app.given.unique('m') }));
  if (answer.status !== 200) {
    expect(answer.status).toBe(400);
    return answer.body.code as string;
  }
  expect(answer.text).toBe('');
  const after = await newestRevision();
  expect(after?.['position']).not.toBe(before?.['position']);
  return after['svc_eligiblity_id'] as string;
}
async function newestRevision() {
  const [row] = await app.given.sql('SELECT * FROM result_revisions ORDER BY position DESC LIMIT 1');
  return row;
}
const meta = (examCode: string | null, extRecordLocator: string | null = null) => ({
  examMetaData: { examCode, extRecordLocator },
});

describe('the exam code of a registration result', () => {
  it('finds the exam of a registration result by svc_eligiblity_id', async () => {
    const id = await anExam();
    expect(await deliver(meta(id))).toBe(id);
  });

  it('finds the exam of a registration result by booking code', async () => {
    const eligibility = await app.given.eligibility(scene);
    const { booking_code } = await app.given.booking(scene, eligibility);
    expect(await deliver(meta(booking_code as string))).toBe(eligibility['svc_eligiblity_id']);
  });

  it('a registration result with the code of a cancelled booking is assigned to no exam, and completes no later booking', async () => {
    const eligibility = await app.given.eligibility(scene);
    const { booking_code } = await app.given.booking(scene, eligibility);
    await app.call('DELETE', `/accounts/${scene.account}/bookings/${booking_code}`, { token: scene.token });
    await app.given.booking(scene, eligibility);
    expect(await deliver(meta(booking_code as string))).toBe('registration_not_found');
  });

  it('finds the exam of a registration result by client_eligibility_id', async () => {
    const clientId = app.given.unique('ce-');
    const id = await anExam({ client_eligibility_id: clientId });
    expect(await deliver(meta(clientId))).toBe(id);
  });

  it('tries the exam code of a registration result as svc_eligiblity_id, booking code and client_eligibility_id, in that order', async () => {
    const first = await app.given.eligibility(scene);
    const { booking_code } = await app.given.booking(scene, first);
    const id = first['svc_eligiblity_id'] as string;
    const second = await anExam({ client_eligibility_id: booking_code });
    const third = await anExam({ client_eligibility_id: id });
    expect([second, third]).not.toContain(id);
    expect(await deliver(meta(booking_code as string))).toBe(id);
    expect(await deliver(meta(id))).toBe(id);
  });

  it('reads the exam code of a registration result from examMetaData, otherwise from examApiData', async () => {
    const [first, second] = [await anExam(), await anExam()];
    expect(await deliver({ examApiData: { examCode: second } })).toBe(second);
    expect(await deliver({ examMetaData: { examCode: first }, examApiData: { examCode: second } })).toBe(first);
    expect(await deliver({ examMetaData: { examCode: '' }, examApiData: { examCode: second } })).toBe(second);
    expect(await deliver({ examMetaData: { examCode: null }, examApiData: { examCode: second } })).toBe(second);
  });

  it('returns registration_ambiguous when two of the caller’s accounts have the client_eligibility_id of the result', async () => {
    const clientId = app.given.unique('ce-');
    const id = await anExam({ client_eligibility_id: clientId });
    const other = await app.given.scene();
    await anExam({ client_eligibility_id: clientId }, other);
    const both = await app.given.token([scene.account, other.account]);
    expect(await deliver(meta(clientId), both)).toBe('registration_ambiguous');
    expect(await deliver(meta(clientId))).toBe(id);
    expect(await deliver(meta(clientId), await app.given.operator())).toBe('registration_ambiguous');
  });

  it('a registration result is never assigned to an exam in an account that the sender cannot access, whatever its code', async () => {
    const other = await app.given.scene();
    const clientId = app.given.unique('ce-');
    const eligibility = await app.given.eligibility(other, {
      client_eligibility_id: clientId,
      candidate: { email: 'other@example.org' },
    });
    const { booking_code } = await app.given.booking(other, eligibility);
    for (const code of [eligibility['svc_eligiblity_id'], booking_code, clientId])
      expect(await deliver(meta(code as string))).toBe('registration_not_found');
    expect(await deliver({ ...meta(other.testCode), examTakerEmail: 'other@example.org' })).toBe(
      'registration_not_found',
    );
    const locator = aLocator();
    await deliver(meta(eligibility['svc_eligiblity_id'] as string, locator), other.token);
    expect(await deliver(meta(null, locator))).toBe('registration_not_found');
  });

  it('a registration result from an operator can be assigned to an exam of any account', async () => {
    const id = await anExam();
    const clientId = app.given.unique('ce-');
    const second = await anExam({ client_eligibility_id: clientId });
    const operator = await app.given.operator();
    expect(await deliver(meta(id, 'Op-1'), operator)).toBe(id);
    expect(await deliver(meta(clientId), operator)).toBe(second);
    expect(await deliver(meta(null, 'OP-1'), operator)).toBe(id);
  });
});

describe('the record locator of a registration result', () => {
  it('finds the registration of a result by its record locator, in upper or lower case', async () => {
    const id = await anExam();
    const locator = aLocator();
    expect(await deliver(meta(null, locator))).toBe('registration_not_found');
    expect(await deliver(meta(id, locator))).toBe(id);
    expect(await deliver(meta(null, locator))).toBe(id);
    expect(await deliver(meta(null, locator.toUpperCase()))).toBe(id);
    expect(await deliver(meta(null, locator.toLowerCase()))).toBe(id);
  });

  it('finds the registration of a result when its record locator and its exam code agree', async () => {
    const id = await anExam();
    const locator = aLocator();
    await deliver(meta(id, locator));
    expect(await deliver(meta(id, locator.toUpperCase()))).toBe(id);
  });

  it('returns registration_mismatch when the record locator and the exam code find different registrations', async () => {
    const [first, second] = [await anExam(), await anExam()];
    const locator = aLocator();
    await deliver(meta(first, locator));
    expect(await deliver(meta(second, locator))).toBe('registration_mismatch');
    expect(await deliveries.revisions(second)).toEqual([]);
    expect(await deliveries.status(second)).toBe('ELIGIBLE');
  });

  it('returns registration_mismatch when the registration already has a different record locator', async () => {
    const id = await anExam();
    await deliver(meta(id, aLocator()));
    expect(await deliver(meta(id, aLocator()))).toBe('registration_mismatch');
    expect(await deliver(meta(id))).toBe(id);
  });

  it('finds the registration of a result by the record locator alone when the exam code is unknown', async () => {
    const id = await anExam();
    const locator = aLocator();
    await deliver(meta(id, locator));
    expect(await deliver(meta('NOWHERE', locator))).toBe(id);
  });

  it('assigns a record locator to only one registration when two simultaneous results contain it', async () => {
    const [first, second] = [await anExam(), await anExam()];
    const locator = aLocator();
    const codes = await Promise.all(
      [first, second].map((id) => deliveries.register(scene.token, registrationBody(meta(id, locator)))),
    );
    expect(codes.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(codes.find(({ status }) => status === 400)!.body.code).toBe('registration_mismatch');
  });
});

describe('when neither code nor locator finds a registration', () => {
  const byTest = (email: string) => ({ ...meta(scene.testCode), examTakerEmail: email });

  it('a registration result whose examCode is a test_code is matched by examTakerEmail if exactly one live record matches', async () => {
    const email = `${app.given.unique('a')}@example.org`;
    const id = await anExam({ candidate: { email } });
    await anExam({ candidate: { email: 'somebody.else@example.org' } });
    expect(await deliver(byTest(email.toUpperCase()))).toBe(id);
  });

  it('a second delivery of the same registration result is answered with 200, even if the record is no longer live', async () => {
    const email = `${app.given.unique('a')}@example.org`;
    const id = await anExam({ candidate: { email } });
    const body = registrationBody({ ...byTest(email) });
    for (let n = 0; n < 2; n++) expect((await deliveries.register(scene.token, body)).status).toBe(200);
    expect(await deliveries.revisions(id)).toHaveLength(1);
  });

  it.each([
    ['jörg.ÅSTRÖM', 'JÖRG.åström'],
    ['ΝΊΚΟΣ.παπάς', 'νίκος.ΠΑΠΆΣ'],
    ['иван', 'ИВАН'],
  ])(
    'e-mail addresses in results match regardless of upper and lower case, by Unicode rules: %s, %s',
    async (kept, delivered) => {
      const mark = app.given.unique('u');
      const id = await anExam({ candidate: { email: `${kept}.${mark}@example.org` } });
      await anExam({ candidate: { email: `jorg.astrom.${mark}@example.org` } });
      expect(await deliver(byTest(`${delivered}.${mark}@example.org`))).toBe(id);
    },
  );

  it('a match by e-mail address also assigns the result’s record locator to the registration', async () => {
    const email = `${app.given.unique('a')}@example.org`;
    const id = await anExam({ candidate: { email } });
    const locator = aLocator();
    await deliver({ ...meta(scene.testCode, locator), examTakerEmail: email });
    expect(await deliver(meta(null, locator))).toBe(id);
  });

  it('returns registration_ambiguous when more than one live record has the test and the e-mail address of the result', async () => {
    const email = `${app.given.unique('a')}@example.org`;
    const [first, second] = [await anExam({ candidate: { email } }), await anExam({ candidate: { email } })];
    expect(await deliver(byTest(email))).toBe('registration_ambiguous');
    await deliver(meta(first));
    expect(await deliver(byTest(email))).toBe(second);
  });

  it('returns registration_not_found when no live record has the test and the e-mail address of the result', async () => {
    const email = `${app.given.unique('a')}@example.org`;
    expect(await deliver(byTest(email))).toBe('registration_not_found');
    const id = await anExam({ candidate: { email } });
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 hour' WHERE svc_eligiblity_id = $1`,
      [id],
    );
    expect(await deliver(byTest(email))).toBe('registration_not_found');
    expect(await deliver(meta(id))).toBe(id);
    expect(await deliver(byTest(email))).toBe('registration_not_found');
  });

  it('the names in a registration result are never used to find the exam', async () => {
    await anExam();
    expect(await deliver({ ...meta(scene.testCode), examTakerFirstName: 'Ada', examTakerLastName: 'Lovelace' })).toBe(
      'registration_not_found',
    );
  });

  it('returns registration_not_found for a result with a UUID as e-mail, an empty address or code, or no members', async () => {
    await anExam();
    await anExam({ candidate: { email: null } });
    expect(await deliver(byTest('5f0c2f0e-0d0b-4f6f-8a43-3d1b0d3c2f11'))).toBe('registration_not_found');
    expect(await deliver(byTest(''))).toBe('registration_not_found');
    expect(await deliver({ ...meta('', ''), examTakerEmail: 'ada@example.org' })).toBe('registration_not_found');
    expect(await deliver({})).toBe('registration_not_found');
  });
});

it('a registration result is never matched with a CANCELLED record', async () => {
  const clientId = app.given.unique('ce-');
  const email = `${app.given.unique('a')}@example.org`;
  const eligibility = await app.given.eligibility(scene, { client_eligibility_id: clientId, candidate: { email } });
  const id = eligibility['svc_eligiblity_id'] as string;
  const booking = await app.given.booking(scene, eligibility);
  const path = `/accounts/${scene.account}`;
  await app.call('DELETE', `${path}/bookings/${booking['booking_code']}`, { token: scene.token });
  const answer = await app.call(
    'DELETE',
    `${path}/candidates/${eligibility['candidate'].candidate_id}/tests/${scene.testCode}`,
    { token: scene.token },
  );
  expect(answer.status).toBe(204);
  for (const code of [id, booking['booking_code'] as string, clientId])
    expect(await deliver(meta(code))).toBe('registration_not_found');
  expect(await deliver({ ...meta(scene.testCode), examTakerEmail: email })).toBe('registration_not_found');
  expect(await deliveries.status(id)).toBe('CANCELLED');
});

describe('a simulatedExam', () => {
  it.each([[true], ['True'], ['tRuE']])(
    'stores the result of a simulated exam and changes no state: %j',
    async (simulatedExam) => {
      const id = await anExam();
      const locator = aLocator();
      expect(await deliver({ examMetaData: { examCode: id, extRecordLocator: locator, simulatedExam } })).toBe(id);
      expect(await deliveries.revisions(id)).toEqual([expect.objectContaining({ revision: 1, simulated: true })]);
      expect(await deliveries.status(id)).toBe('ELIGIBLE');
      expect(await deliveries.bookings(id)).toEqual([]);
      expect(await deliver(meta(null, locator))).toBe('registration_not_found');
    },
  );

  it('accepts the result of the real exam after the result of a simulated exam', async () => {
    const id = await anExam();
    await deliver({ examMetaData: { examCode: id, extRecordLocator: aLocator(), simulatedExam: 'True' } });
    expect(
      await deliver({ examMetaData: { examCode: id, extRecordLocator: aLocator(), simulatedExam: 'False' } }),
    ).toBe(id);
    expect(await deliveries.status(id)).toBe('COMPLETED');
    expect(await deliveries.completions(id)).toBe(1);
  });
});

describe('permission to deliver registration results', () => {
  it('delivering registration results requires a token with the results scope', async () => {
    const body = registrationBody();
    expect((await app.call('POST', '/registrations/registration/results', { body })).status).toBe(401);
    const token = await app.given.token([scene.account], ['read', 'update']);
    const answer = await deliveries.register(token, body);
    expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
  });
});
