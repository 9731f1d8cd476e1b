import type { TestApp } from './app';
import { accountBody, Deliveries, registrationBody } from './deliveries';
import { eventually } from './eventually';
import { BulkJobs, queueMany } from './queued';
import { Subscribed } from './subscribed';

/** The ids and codes of an account's objects, by the names of the parameters in paths and filters. */
export type Places = Record<string, string>;

/** An account with data of every kind. */
export interface Side {
  subscribed: Subscribed;
  account: string;
  places: Places;
  /**
   * Strings that occur only in the data of this account. If a response to another account contains such a string, it
   * leaks data.
   */
  marks: string[];
}

const REASON = { reason: 'mended' };

/**
 * Creates an account with records in each state and all dependent data. The test driver `driver` sends results for
 * several accounts.
 */
export async function makeSide(app: TestApp, driverOf: (account: string) => Promise<string>): Promise<Side> {
  const subscribed = await Subscribed.start(app);
  const { scene, operator } = subscribed;
  const { given } = app;
  const name = given.unique('Side');
  const admin = (method: string, path: string, body?: unknown) =>
    app.call(method, `/admin/${path}`, { token: operator, body });
  const record = (what: string, more: object = {}, voucher_codes: string[] = []) =>
    given.eligibility(scene, {
      client_eligibility_id: `${name}-${what}`.slice(-20),
      voucher_codes,
      candidate: { candidate_id: `${name}-${what}`, first_name: name, email: `${name}@example.org`, ...more },
    });
  const ofTest = (what: string) => `/accounts/${scene.account}/candidates/${name}-${what}/tests/${scene.testCode}`;

  const school = await given.school(scene.account);
  const accommodation = await given.accommodation(scene.account, true);
  const attribute = await given.attributeKey(scene.account);
  const voucher = await given.voucher(scene.account, { max_uses: 100 });
  const records = [
    await record('pending', { special_accommodations: [accommodation] }),
    await record('held'),
    await record('eligible', { school_code: school }, [voucher]),
    await record('expired'),
    await record('cancelled'),
    await record('booked'),
    await record('done'),
    await record('absent'),
  ].map((one) => one['svc_eligiblity_id'] as string);
  const [, held, , expired, cancelled, booked, done] = records;
  await admin('POST', `eligibilities/${held}/hold`, { reason: name });
  await given.sql(
    `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 hour' WHERE svc_eligiblity_id = $1`,
    [expired],
  );
  await app.call('DELETE', ofTest('cancelled'), { token: scene.token });
  const book = async (what: string) =>
    (await given.booking(scene, { candidate: { candidate_id: `${name}-${what}` }, test_code: scene.testCode }))[
      'booking_code'
    ] as string;
  const bookings = [await book('booked'), await book('done'), await book('absent')];
  await app.call('POST', `/accounts/${scene.account}/bookings/${bookings[2]}/absence`, {
    token: scene.token,
    body: { excused: false },
  });

  const driver = await driverOf(scene.account);
  const deliveries = new Deliveries(app);
  const photo = {
    userPhotoBase64String: Buffer.from(name).toString('base64'),
    videoReviewLink: `https://v.example/${name}`,
  };
  const meta = (examCode: string) => ({ examMetaData: { examCode, extRecordLocator: `${name}-${examCode}` } });
  await deliveries.register(driver, registrationBody({ ...photo, ...meta(done) }));
  await deliveries.register(driver, registrationBody({ ...photo, ...meta(cancelled) }));
  await deliveries.put({ account: scene.account, token: driver }, accountBody(`${name}-nobody`, { result_id: name }));
  const unmatched = await given.sql('SELECT id FROM unmatched_results WHERE strpos(body, $1) > 0', [name]);

  const delivered = await eventually(async () => {
    const found = await subscribed.notifications('&state=DELIVERED');
    if (found.length < 5) throw new Error(`${found.length} events were delivered.`);
    return found.map(({ id }) => id as string);
  }, 30_000);
  await queueMany(subscribed, 3);
  await given.sql(
    `UPDATE notifications SET booking_code = left(md5(booking_code || $2), 10) WHERE subscription_id = $1 AND queued_datetime IS NOT NULL`,
    [subscribed.id, name],
  );
  const queued = await subscribed.queue();
  const jobs = new BulkJobs(app, operator);
  const ended = await jobs.start('error-queue/resolve', {
    filter: { subscription_id: subscribed.id, booking_code: queued[0]['booking_code'] },
    reason: name,
  });
  await jobs.having(ended, { state: 'DONE', matched: 1 });
  const [{ id: paused }] = await given.sql(
    `INSERT INTO jobs (id, kind, state, filter, reason, account_code, actor, matched)
     VALUES (gen_random_uuid(), 'RESEND', 'PAUSED', jsonb_build_object('subscription_ids', ARRAY[$3::uuid]), $2, $1, 'somebody', 1) RETURNING id`,
    [scene.account, name, subscribed.id],
  );
  await given.sql(
    `INSERT INTO job_items (job_id, notification_position, subscription_id)
     SELECT $1, position, subscription_id FROM notifications WHERE id = $2`,
    [paused, queued[1]['id']],
  );
  const { import_id } = (
    await app.call('POST', `/accounts/${scene.account}/eligibility-imports`, {
      token: scene.token,
      headers: { 'content-type': 'text/csv' },
      body: `candidate_id,first_name,last_name,test_code\n${name}-imported,${name},B,${scene.testCode}\n${name}-refused,A,B,NONE\n`,
    })
  ).body as { import_id: string };
  const ofImport = `/accounts/${scene.account}/eligibility-imports/${import_id}`;
  await eventually(async () => {
    const { state } = (await app.call('GET', ofImport, { token: scene.token })).body as { state: string };
    if (state !== 'DONE') throw new Error(`The import is ${state}.`);
  }, 20_000);
  await app.call('GET', `/eligibilities/${booked}/testLaunchInfo`, { token: scene.token });
  const [{ username }] = await given.sql(
    `SELECT username FROM user_accounts JOIN users USING (username) WHERE account_code = $1 AND 'create' = ANY (scopes)`,
    [scene.account],
  );

  const ids = unmatched.map(({ id }) => id as string);
  return {
    subscribed,
    account: scene.account,
    places: {
      account_code: scene.account,
      candidate_id: `${name}-done`,
      test_code: scene.testCode,
      booking_code: bookings[0],
      code: bookings[0],
      svc_id: done,
      client_eligibility_id: `${name}-done`.slice(-20),
      svc_eligibility_code: booked,
      revision: '1',
      subscription_id: subscribed.id,
      subscriptions: subscribed.id,
      notifications: delivered[0],
      'unmatched-results': ids[0],
      notification_id: queued[2]['id'] as string,
      job_id: paused as string,
      resend_id: paused as string,
      import_id,
      schools: school,
      accommodations: accommodation,
      'attribute-keys': attribute,
      vouchers: voucher,
      username: username as string,
      actor: username as string,
      subject: booked,
      q: name,
      open_id: booked,
      locator: `${name}-${done}`,
      result_id: name,
    },
    marks: [
      name,
      scene.account,
      scene.testCode,
      school,
      accommodation,
      attribute,
      voucher,
      subscribed.id,
      ...records,
      ...bookings,
      ...delivered,
      ...queued.flatMap((one) => [one['id'] as string, one['booking_code'] as string]),
      ...ids,
      ended,
      paused as string,
      import_id,
    ],
  };
}

const UUID = '00000000-0000-4000-8000-000000000000';

/** Ids and codes that have a valid form, but belong to no object. */
export const NOWHERE: Places = {
  account_code: 'ZZZZZZZZZZZZ',
  candidate_id: 'Nobody-1a2b3c-done',
  test_code: 'T-nowhere',
  booking_code: 'AB2CD3EF22',
  code: 'AB2CD3EF22',
  svc_id: 'AB2CD3EF',
  client_eligibility_id: 'Nobody-1a2b3c-done',
  svc_eligibility_code: 'AB2CD3EG',
  revision: '1',
  subscription_id: UUID,
  subscriptions: UUID,
  notifications: UUID,
  'unmatched-results': UUID,
  notification_id: UUID,
  job_id: UUID,
  resend_id: UUID,
  import_id: UUID,
  schools: 'S-nowhere',
  accommodations: 'A-nowhere',
  'attribute-keys': 'k-nowhere',
  vouchers: 'V-nowhere',
  username: 'user-nowhere',
  actor: 'user-nowhere',
  subject: 'AB2CD3EG',
  q: 'Nobody1a2b3c',
  open_id: 'AB2CD3EG',
  locator: 'Nobody1a2b3c-AB2CD3EF',
  result_id: 'Nobody1a2b3c',
};

export { REASON };
