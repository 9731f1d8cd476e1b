import { CommandBus } from '@nestjs/cqrs';
import { CompleteExam } from '../../src/bookings/bookings.commands';
import { examPath, faultsOf } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { dateTime, siteBooking } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

type Record_ = Record<string, any>;
const DAY = 86_400_000;
const inDays = (days: number) => dateTime(Date.now() + days * DAY);

const pathOf = (record: Record_) => `${examPath(scene, record)}/bookings`;
const call = (method: string, path: string, body?: unknown, headers = {}) =>
  app.call(method, path, { token: scene.token, body, headers });
const bookingPath = (booking: Record_) => `/accounts/${scene.account}/bookings/${booking['booking_code']}`;
const eventsOf = async (booking: Record_) =>
  (await app.given.sql('SELECT * FROM domain_events WHERE stream = $1 ORDER BY sequence', [
    booking['booking_code'],
  ])) as Record_[];
const remote = { booking_on: inDays(3), delivery_mode: 'SVC_REMOTE_PROCTORED' };

describe('§6 Bookings', () => {
  it('POST bookings answers 201 with every member of the new booking, and GET returns the same booking', async () => {
    const record = await app.given.eligibility(scene);
    const sent = siteBooking();
    const answer = await call('POST', pathOf(record), sent);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      ...sent,
      booking_code: expect.stringMatching(/^[A-Za-z0-9]{10}$/),
      svc_eligiblity_id: record['svc_eligiblity_id'],
      candidate_id: record['candidate'].candidate_id,
      test_code: scene.testCode,
      status: 'BOOKED',
      created_datetime: expect.any(String),
      updated_datetime: expect.any(String),
    });
    expect((await call('GET', bookingPath(answer.body))).body).toEqual(answer.body);
  });

  it('a SVC_REMOTE_PROCTORED booking has no location, and its time zone is optional', async () => {
    const without = await app.given.booking(scene, await app.given.eligibility(scene), {
      ...remote,
      ...{ location_code: null, location_name: undefined, location_address: undefined, location_timezone: null },
    });
    expect(without).toMatchObject({
      location_code: null,
      location_name: null,
      location_address: null,
      location_timezone: null,
    });
    const answer = await call('POST', pathOf(await app.given.eligibility(scene)), {
      ...remote,
      location_timezone: 'Asia/Kolkata',
    });
    expect([answer.status, answer.body.location_timezone]).toEqual([201, 'Asia/Kolkata']);
  });

  it.each<[string, unknown, string[]]>([
    ['no body', undefined, [' required']],
    ['an array', [], [' type_invalid']],
    ['an empty object', {}, ['/booking_on required', '/delivery_mode required']],
    [
      'a site without its place',
      { ...siteBooking(), location_code: '', location_name: null, location_address: undefined, location_timezone: 5 },
      [
        '/location_address required',
        '/location_code blank',
        '/location_name required',
        '/location_timezone type_invalid',
      ],
    ],
    ['a time zone left out', { ...siteBooking(), location_timezone: undefined }, ['/location_timezone required']],
    [
      'a place for a remote exam',
      { ...siteBooking(), delivery_mode: 'SVC_REMOTE_PROCTORED' },
      ['/location_address not_allowed', '/location_code not_allowed', '/location_name not_allowed'],
    ],
    [
      'form and place wrong together',
      { ...siteBooking(), booking_on: '2027-02-30T00:00:00Z', location_name: null },
      ['/booking_on date_time_invalid', '/location_name required'],
    ],
    [
      'texts that are too long',
      {
        ...siteBooking(),
        location_code: 'x'.repeat(51),
        location_name: 'x'.repeat(201),
        location_address: 'x'.repeat(501),
      },
      ['/location_address too_long', '/location_code too_long', '/location_name too_long'],
    ],
    [
      'another delivery mode',
      { ...siteBooking(), delivery_mode: 'site_proctored' },
      ['/delivery_mode delivery_mode_invalid'],
    ],
    [
      'unknown and read-only members',
      {
        ...siteBooking(),
        status: 'BOOKED',
        booking_code: 'A',
        svc_eligiblity_id: 'B',
        created_datetime: 'C',
        place: 'D',
      },
      ['booking_code', 'created_datetime', 'place', 'status', 'svc_eligiblity_id'].map(
        (name) => `/${name} unknown_field`,
      ),
    ],
    ...[
      'America/Springfield',
      '+01:00',
      'EST5',
      'america/new_york',
      'America/NEW_YORK',
      'New York',
      'Europe/Berlin\u200f',
      '',
    ].map((zone): [string, unknown, string[]] => [
      `the zone ${JSON.stringify(zone)}`,
      { ...siteBooking(), location_timezone: zone },
      [`/location_timezone ${zone === '' ? 'blank' : 'time_zone_invalid'}`],
    ]),
  ])('a request to book or move an exam with %s is answered with 400', async (_title, body, faults) => {
    const record = await app.given.eligibility(scene);
    const booked = await call('POST', pathOf(record), body);
    expect([booked.status, booked.body.code, faultsOf(booked).sort()]).toEqual([400, 'validation_error', faults]);
    const moved = await call('PUT', bookingPath({ booking_code: 'ABCDEFGHJK' }), body);
    expect([moved.status, faultsOf(moved).sort()]).toEqual([400, faults]);
  });

  it.each([
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Etc/GMT+5',
    'US/Eastern',
    'Pacific/Chatham',
    'UTC',
  ])('a booking may have the IANA time zone %s', async (zone) => {
    const booking = await app.given.booking(scene, await app.given.eligibility(scene), { location_timezone: zone });
    expect(booking['location_timezone']).toBe(zone);
  });

  it('a booking must be within the window of its eligibility, including both ends, and may begin in the past', async () => {
    const changes = { schedule_start_date: inDays(-10), eligibility_end_date: inDays(10) };
    const record = await app.given.eligibility(scene, changes);
    for (const booking_on of [inDays(-11), inDays(11)]) {
      const answer = await call('POST', pathOf(record), { ...siteBooking(), booking_on });
      expect([answer.status, answer.body.code]).toEqual([403, 'not_eligible_to_schedule']);
      expect(answer.body).not.toHaveProperty('booking_code');
    }
    const booking = await app.given.booking(scene, record, { booking_on: changes.schedule_start_date });
    // The refusal of a move names the open booking of the record, which is the booking that the request tried to move.
    expect((await call('PUT', bookingPath(booking), { ...siteBooking(), booking_on: inDays(12) })).body).toMatchObject({
      status: 403,
      code: 'not_eligible_to_schedule',
      booking_code: booking['booking_code'],
    });
    const moved = await call('PUT', bookingPath(booking), {
      ...siteBooking(),
      booking_on: changes.eligibility_end_date,
    });
    expect([moved.status, moved.body.booking_on]).toEqual([200, changes.eligibility_end_date]);
  });

  it('a request to book an exam for a candidate without any record is answered with 404 eligibility_not_found', async () => {
    const answer = await call(
      'POST',
      pathOf({ candidate: { candidate_id: 'nobody' }, test_code: scene.testCode }),
      siteBooking(),
    );
    expect([answer.status, answer.body.code]).toEqual([404, 'eligibility_not_found']);
  });

  it('a request for an unknown booking, or for a booking of another account, is answered with 404 booking_not_found', async () => {
    const other = await app.given.scene();
    const foreign = await app.given.booking(other, await app.given.eligibility(other));
    for (const code of ['ABCDEFGHJK', 'x', foreign['booking_code'] as string]) {
      const path = bookingPath({ booking_code: code });
      for (const answer of [
        await call('GET', path),
        await call('PUT', path, siteBooking()),
        await call('DELETE', path),
        await call('POST', `${path}/absence`, { excused: true }),
      ])
        expect([answer.status, answer.body.code]).toEqual([404, 'booking_not_found']);
    }
    expect((await call('GET', bookingPath({ booking_code: 'x'.repeat(51) }))).status).toBe(400);
  });

  it.each<[unknown, string]>([
    [{}, '/excused required'],
    [{ excused: null }, '/excused required'],
    [{ excused: 'true' }, '/excused type_invalid'],
    [{ excused: 1 }, '/excused type_invalid'],
    [{ excused: true, reason: 'ill' }, '/reason unknown_field'],
    [undefined, ' required'],
  ])('a report of an absence with the body %j is answered with 400', async (body, fault) => {
    const answer = await call('POST', `${bookingPath({ booking_code: 'ABCDEFGHJK' })}/absence`, body);
    expect([answer.status, faultsOf(answer)]).toEqual([400, [fault]]);
  });

  it('a request to change a closed booking is answered with 403 booking_closed and leaves the booking unchanged', async () => {
    const close: Record<string, (booking: Record_) => Promise<unknown>> = {
      CANCELLED: (booking) => call('DELETE', bookingPath(booking)),
      ABSENT: (booking) => call('POST', `${bookingPath(booking)}/absence`, { excused: false }),
      EXCUSED_ABSENT: (booking) => call('POST', `${bookingPath(booking)}/absence`, { excused: true }),
      COMPLETED: (booking) =>
        app.app.get(CommandBus, { strict: false }).execute(new CompleteExam(booking['svc_eligiblity_id'] as string, 1)),
    };
    for (const [status, by] of Object.entries(close)) {
      const booking = await app.given.booking(scene, await app.given.eligibility(scene));
      await by(booking);
      // A request to excuse an absence is left out, because it is allowed after the absence (bookings-rules.e2e.ts).
      const others = [close['CANCELLED'], close['ABSENT'], ...(status === 'ABSENT' ? [] : [close['EXCUSED_ABSENT']])];
      for (const again of others)
        expect(((await again(booking)) as { body: unknown }).body).toMatchObject({
          status: 403,
          code: 'booking_closed',
        });
      expect((await call('PUT', bookingPath(booking), siteBooking())).body).toMatchObject({ code: 'booking_closed' });
      expect((await call('GET', bookingPath(booking))).body).toMatchObject({ status });
    }
  });

  it("each change of a booking raises an event with the next sequence number, a later effective_date, and the request's trace id", async () => {
    const record = await app.given.eligibility(scene, { client_eligibility_id: app.given.unique('EL-') });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const booked = await call('POST', pathOf(record), siteBooking(), {
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    });
    await call('PUT', bookingPath(booked.body), { ...remote, location_timezone: 'Europe/Paris' });
    await call('DELETE', bookingPath(booked.body));
    const events = await eventsOf(booked.body);
    expect(events.map(({ name, sequence }) => [name, sequence])).toEqual([
      ['booking.created', 1],
      ['booking.rescheduled', 2],
      ['booking.cancelled', 3],
    ]);
    const times = events.map((event) => (event['occurred_at'] as Date).getTime());
    expect(times[1] > times[0] && times[2] > times[1]).toBe(true);
    expect(events[0]['traceparent']).toMatch(new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`));
    expect(events[0]['data']).toEqual({
      ...siteBooking(),
      ...{ booking_on: booked.body.booking_on, booking_code: booked.body.booking_code },
      ...{
        change_reason: 'BOOKING_CREATED',
        effective_date: `${events[0]['occurred_at'].toISOString().slice(0, 19)}Z`,
      },
      ...{ candidate_id: record['candidate'].candidate_id, candidate_fname: 'Ada' },
      ...{ candidate_lname: 'Lovelace', client_eligibility_id: record['client_eligibility_id'] },
      ...{ exam_code: `EX-${scene.testCode}`, exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main' }] },
    });
    expect(events[1]['data']).toMatchObject({
      delivery_mode: 'SVC_REMOTE_PROCTORED',
      location_timezone: 'Europe/Paris',
    });
    expect(events[1]['data']).not.toHaveProperty('location_code');
  });

  it('a refused change to a booking changes no state and raises no event', async () => {
    const booking = await app.given.booking(scene, await app.given.eligibility(scene));
    await call('PUT', bookingPath(booking), { ...siteBooking(), booking_on: inDays(400) });
    expect(await eventsOf(booking)).toHaveLength(1);
    expect((await call('GET', bookingPath(booking))).body).toEqual(booking);
  });

  it('after a cancellation or an excused absence, the exam can be booked again, under a new code', async () => {
    const record = await app.given.eligibility(scene);
    const first = await app.given.booking(scene, record);
    await call('DELETE', bookingPath(first));
    const second = await app.given.booking(scene, record);
    await call('POST', `${bookingPath(second)}/absence`, { excused: true });
    const third = await app.given.booking(scene, record);
    expect(new Set([first, second, third].map((booking) => booking['booking_code'])).size).toBe(3);
  });
});
