import { CommandBus } from '@nestjs/cqrs';
import { CompleteExam } from '../../src/bookings/bookings.commands';
import { DomainError } from '../../src/platform/errors';
import { examPath } from '../support/answers';
import { startApp, type Answer, type TestApp } from '../support/app';
import { dateTime, siteBooking } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let operator: string;
let reviewed: string;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  operator = await app.given.operator();
  reviewed = await app.given.accommodation(scene.account, true);
});
afterAll(() => app.close());

interface Subject {
  record: Record<string, any>;
  /**
   * The code of the current or former booking of the record. If the record never had a booking, the code is invented.
   */
  bookingCode: string;
}

const NO_BOOKING = 'ABCDEFGHJK';
const DAY = 86_400_000;

const pathOf = ({ record }: Subject) => examPath(scene, record);
const call = (method: string, path: string, body?: unknown, token = scene.token) =>
  app.call(method, path, { token, body });
const booking = (subject: Subject) => `/accounts/${scene.account}/bookings/${subject.bookingCode}`;
const admin = (subject: Subject, action: string, body?: unknown) =>
  call('POST', `/admin/eligibilities/${subject.record['svc_eligiblity_id']}/${action}`, body, operator);
const complete = (subject: Subject) =>
  app.app
    .get(CommandBus, { strict: false })
    .execute(new CompleteExam(subject.record['svc_eligiblity_id'] as string, 1));
const statusOf = async (subject: Subject) =>
  ((await call('GET', pathOf(subject))).body as { status: string }[])[0].status;

async function eligible(changes = {}): Promise<Subject> {
  return { record: await app.given.eligibility(scene, changes), bookingCode: NO_BOOKING };
}

async function scheduled(): Promise<Subject> {
  const { record } = await eligible();
  return { record, bookingCode: (await app.given.booking(scene, record))['booking_code'] as string };
}

/** For each status, a function that creates a record and gives it this status by regular API requests. */
const REACH = {
  PENDING: () => eligible({ candidate: { special_accommodations: [reviewed] } }),
  ELIGIBLE: () => eligible(),
  SCHEDULED: scheduled,
  COMPLETED: async () => {
    const subject = await scheduled();
    await complete(subject);
    return subject;
  },
  ABSENT: async () => {
    const subject = await scheduled();
    await call('POST', `${booking(subject)}/absence`, { excused: false });
    return subject;
  },
  EXPIRED: async () => {
    const subject = await eligible();
    await app.given.sql('UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1', [
      subject.record['svc_eligiblity_id'],
    ]);
    return subject;
  },
  CANCELLED: async () => {
    const subject = await eligible();
    await call('DELETE', pathOf(subject));
    return subject;
  },
} satisfies Record<string, () => Promise<Subject>>;
type Status = keyof typeof REACH;

const updateBody = ({ record }: Subject, changes = {}) => ({
  test_code: record['test_code'] as string,
  candidate: record['candidate'] as object,
  ...changes,
});

const TRIGGERS = {
  update: (subject) => call('PUT', pathOf(subject), updateBody(subject)),
  'update of the end date into the future': (subject) =>
    call('PUT', pathOf(subject), updateBody(subject, { eligibility_end_date: '2999-01-01T00:00:00Z' })),
  cancel: (subject) => call('DELETE', pathOf(subject)),
  vouchers: (subject) => call('PUT', `${pathOf(subject)}/vouchers`, []),
  hold: (subject) => admin(subject, 'hold', { reason: 'Fee unpaid' }),
  release: (subject) => admin(subject, 'release'),
  'approve accommodations': (subject) => admin(subject, 'approve-accommodations'),
  'decline accommodations': (subject) => admin(subject, 'decline-accommodations', { reason: 'No proof' }),
  book: (subject) => call('POST', `${pathOf(subject)}/bookings`, siteBooking()),
  'move booking': (subject) =>
    call('PUT', booking(subject), { ...siteBooking(), booking_on: dateTime(Date.now() + 9 * DAY) }),
  'cancel booking': (subject) => call('DELETE', booking(subject)),
  'excused absence': (subject) => call('POST', `${booking(subject)}/absence`, { excused: true }),
  absence: (subject) => call('POST', `${booking(subject)}/absence`, { excused: false }),
  launch: (subject) => call('GET', `/eligibilities/${subject.record['svc_eligiblity_id']}/testLaunchInfo`),
} satisfies Record<string, (subject: Subject) => Promise<Answer>>;
type Trigger = keyof typeof TRIGGERS;

/**
 * The expected effect of a trigger: the response (or the outcome, if the trigger is not a request), and the status of
 * the record afterwards.
 */
type Outcome = [answer: number | string, status: Status];

const refusedBy = (answers: Partial<Record<Status, string>>) => answers;
const CLOSED = { COMPLETED: '403 eligibility_closed', ABSENT: '403 eligibility_closed' };
const GONE = { CANCELLED: '404 eligibility_not_found' };
const NO_OPEN_BOOKING = refusedBy({
  ...{ PENDING: '404 booking_not_found', ELIGIBLE: '404 booking_not_found', EXPIRED: '404 booking_not_found' },
  ...{ CANCELLED: '404 booking_not_found', COMPLETED: '403 booking_closed', ABSENT: '403 booking_closed' },
});
const forbidden = (...statuses: Status[]) =>
  Object.fromEntries(statuses.map((status) => [status, '403 forbidden_operation']));
const OPERATOR_REFUSED = forbidden('SCHEDULED', 'COMPLETED', 'ABSENT', 'CANCELLED');

/**
 * The table of states in section 5 of the contract. The service refuses every other transition, and changes nothing.
 */
const EXPECTED: Record<Trigger, Partial<Record<Status, Outcome | string>>> = {
  update: {
    ...{
      PENDING: [204, 'PENDING'],
      ELIGIBLE: [204, 'ELIGIBLE'],
      SCHEDULED: [204, 'SCHEDULED'],
      EXPIRED: [204, 'EXPIRED'],
    },
    ...CLOSED,
    ...GONE,
  },
  'update of the end date into the future': {
    ...{
      PENDING: [204, 'PENDING'],
      ELIGIBLE: [204, 'ELIGIBLE'],
      SCHEDULED: [204, 'SCHEDULED'],
      EXPIRED: [204, 'ELIGIBLE'],
    },
    ...CLOSED,
    ...GONE,
  },
  cancel: {
    ...{ PENDING: [204, 'CANCELLED'], ELIGIBLE: [204, 'CANCELLED'], EXPIRED: [204, 'CANCELLED'] },
    SCHEDULED: '403 eligibility_booked',
    ...CLOSED,
    ...GONE,
  },
  vouchers: {
    ...{ PENDING: [204, 'PENDING'], ELIGIBLE: [204, 'ELIGIBLE'], EXPIRED: [204, 'EXPIRED'] },
    SCHEDULED: '403 eligibility_booked',
    ...CLOSED,
    ...GONE,
  },
  hold: {
    ...OPERATOR_REFUSED,
    ...forbidden('EXPIRED'),
    ...{ PENDING: [204, 'PENDING'], ELIGIBLE: [204, 'PENDING'], SCHEDULED: [204, 'SCHEDULED'] },
  },
  release: {
    ...OPERATOR_REFUSED,
    ...{
      PENDING: [204, 'PENDING'],
      ELIGIBLE: [204, 'ELIGIBLE'],
      SCHEDULED: [204, 'SCHEDULED'],
      EXPIRED: [204, 'EXPIRED'],
    },
  },
  'decline accommodations': {
    ...OPERATOR_REFUSED,
    ...forbidden('ELIGIBLE', 'EXPIRED'),
    PENDING: [204, 'PENDING'],
  },
  'approve accommodations': {
    ...{ PENDING: [204, 'ELIGIBLE'], ELIGIBLE: [204, 'ELIGIBLE'], EXPIRED: [204, 'EXPIRED'] },
    ...OPERATOR_REFUSED,
  },
  book: {
    ELIGIBLE: [201, 'SCHEDULED'],
    ...Object.fromEntries(
      ['PENDING', 'SCHEDULED', 'COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'].map((status) => [
        status,
        '403 not_eligible_to_schedule',
      ]),
    ),
  },
  'move booking': { SCHEDULED: [200, 'SCHEDULED'], ...NO_OPEN_BOOKING },
  'cancel booking': { SCHEDULED: [204, 'ELIGIBLE'], ...NO_OPEN_BOOKING },
  'excused absence': { ...NO_OPEN_BOOKING, SCHEDULED: [204, 'ELIGIBLE'], ABSENT: [204, 'ELIGIBLE'] },
  absence: { SCHEDULED: [204, 'ABSENT'], ...NO_OPEN_BOOKING },
  launch: {
    ...{ ELIGIBLE: [200, 'ELIGIBLE'], SCHEDULED: [200, 'SCHEDULED'] },
    ...Object.fromEntries(
      ['PENDING', 'COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'].map((status) => [status, '403 launch_not_available']),
    ),
  },
};

const STATUSES = Object.keys(REACH) as Status[];
const product = (Object.keys(TRIGGERS) as Trigger[]).flatMap((trigger) =>
  STATUSES.map((status): [Status, Trigger, Outcome | string] => [status, trigger, EXPECTED[trigger][status]!]),
);

describe('§5 the table of states, status × trigger', () => {
  it.each(product)(
    'a record in the status %s reacts to the trigger "%s" as the table of states requires: %j',
    async (status, trigger, expected) => {
      const [wanted, next] = typeof expected === 'string' ? [expected, status] : expected;
      const subject = await REACH[status]();
      expect(await statusOf(subject)).toBe(status);
      const answer = await TRIGGERS[trigger](subject);
      expect(answer.status < 400 ? answer.status : `${answer.status} ${answer.body.code}`).toBe(wanted);
      expect(await statusOf(subject)).toBe(next);
    },
  );

  it.each(STATUSES)('a result completes a record in the status %s, unless the status is CANCELLED', async (status) => {
    const subject = await REACH[status]();
    const completed = complete(subject);
    if (status === 'CANCELLED') await expect(completed).rejects.toThrow(DomainError);
    else await completed;
    expect(await statusOf(subject)).toBe(status === 'CANCELLED' ? status : 'COMPLETED');
    const events = await app.given.sql(
      `SELECT 1 FROM domain_events WHERE name = 'booking.exam-completed' AND data ->> 'candidate_id' = $1`,
      [subject.record['candidate'].candidate_id],
    );
    expect(events.length).toBe(status === 'CANCELLED' ? 0 : 1);
  });

  it.each([
    ['cancel booking', 'EXPIRED'],
    ['excused absence', 'EXPIRED'],
    ['absence', 'ABSENT'],
  ] as const)('on the trigger "%s", a SCHEDULED record whose window is over becomes %s', async (trigger, status) => {
    const subject = await scheduled();
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now(), booking_on = now() - interval '1 h' WHERE svc_eligiblity_id = $1`,
      [subject.record['svc_eligiblity_id']],
    );
    expect(await statusOf(subject)).toBe('SCHEDULED');
    expect((await TRIGGERS[trigger](subject)).status).toBe(204);
    expect(await statusOf(subject)).toBe(status);
  });

  it('from its end date on, a record is returned as EXPIRED, even if no background job has run', async () => {
    const end = Math.ceil(Date.now() / 1000) * 1000 + 1000;
    const subject = await eligible({ eligibility_end_date: dateTime(end) });
    expect(await statusOf(subject)).toBe('ELIGIBLE');
    await new Promise((resolve) => setTimeout(resolve, end - Date.now() + 5));
    const [record] = (await call('GET', pathOf(subject))).body as Record<string, unknown>[];
    expect(record).toMatchObject({ status: 'EXPIRED', eligible_to_schedule: false });
    expect(record['eligibility_status_message']).toEqual(expect.any(String));
  });

  it('a PENDING record becomes ELIGIBLE when its accommodations are approved and its hold is released, in either order', async () => {
    for (const steps of [
      ['approve-accommodations', 'release'],
      ['release', 'approve-accommodations'],
    ]) {
      const subject = await REACH.PENDING();
      await admin(subject, 'hold', { reason: 'Fee unpaid' });
      await admin(subject, steps[0]);
      expect(await statusOf(subject)).toBe('PENDING');
      await admin(subject, steps[1]);
      expect(await statusOf(subject)).toBe('ELIGIBLE');
    }
  });

  it('putting a record on hold requires a reason, which the client can read, and writes an audit row', async () => {
    const subject = await eligible();
    for (const body of [{}, { reason: '' }, { reason: ' ' }, { reason: 'x'.repeat(501) }, undefined])
      expect((await admin(subject, 'hold', body)).status).toBe(400);
    await admin(subject, 'hold', { reason: 'Fee unpaid\nsee letter' });
    const [record] = (await call('GET', pathOf(subject))).body as Record<string, any>[];
    expect(record['eligibility_status_message']).toContain('Fee unpaid\nsee letter');
    expect((await call('PUT', pathOf(subject), record)).status).toBe(204);
    const audit = await app.given.sql(`SELECT action FROM audit_log WHERE subject = $1 ORDER BY id`, [
      subject.record['svc_eligiblity_id'],
    ]);
    expect(audit.map((row) => row['action'])).toEqual(['eligibility.create', 'eligibility.hold']);
  });

  it('the operator routes of an eligibility answer 404 to an unknown id, and refuse a client with 403', async () => {
    const unknown = await call('POST', '/admin/eligibilities/ZZZZZZZZ/release', undefined, operator);
    expect([unknown.status, unknown.body.code]).toEqual([404, 'eligibility_not_found']);
    const client = await call('POST', '/admin/eligibilities/ZZZZZZZZ/release');
    expect([client.status, client.body.code]).toEqual([403, 'insufficient_scope']);
  });
});
