import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '0.3' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

/** Makes the partner give the specified answers to the given events, and answer all other events with 200. */
function answers(by: Record<string, { status: number; delayMs?: number }>) {
  const begun: string[] = [];
  subscribed.partner.answer(async ({ json, headers }) => {
    const event = `${json.booking_code} ${headers['event-sequence']}`;
    begun.push(event);
    const { status, delayMs = 0 } = by[event] ?? { status: 200 };
    await pause(delayMs);
    return { status };
  });
  return begun;
}

async function queued(bookingCode: string) {
  return eventually(async () => {
    const [row] = await subscribed.queue(`&booking_code=${bookingCode}`);
    expect(row).toBeDefined();
    return row;
  });
}

const down = () => eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));

async function nothingLeft(): Promise<void> {
  await eventually(async () =>
    expect(new Set((await subscribed.notifications()).map(({ state }) => state))).toEqual(new Set(['DELIVERED'])),
  );
}

test('does not send an event as a probe while the attempt of an earlier event of the same booking is running', async () => {
  const by: Record<string, { status: number; delayMs?: number }> = {};
  answers(by);
  const [x, y] = [await subscribed.booking(), await subscribed.booking()];
  await subscribed.partner.received(2);
  by[`${x} 2`] = { status: 200, delayMs: 2500 };
  by[`${y} 2`] = { status: 500 };
  await subscribed.reschedule(x);
  await subscribed.partner.receivedFor(x, 2);
  await subscribed.reschedule(x);
  await subscribed.reschedule(y);
  await down();
  delete by[`${y} 2`];
  await nothingLeft();
  // The later event of the booking was sent once, after the attempt of the earlier event had ended.
  const requests = await subscribed.partner.receivedFor(x, 3);
  const of = (sequence: string) => requests.filter(({ headers }) => headers['event-sequence'] === sequence);
  expect([of('2').length, of('3').length]).toEqual([1, 1]);
  expect(of('3')[0].at - of('2')[0].at).toBeGreaterThanOrEqual(2400);
});

test('a manual resend waits only for a running attempt of the same booking', async () => {
  const by: Record<string, { status: number; delayMs?: number }> = {};
  const begun = answers(by);
  const x = await subscribed.booking();
  await subscribed.partner.received(1);
  by[`${x} 2`] = { status: 400 };
  await subscribed.reschedule(x);
  const { id } = await queued(x);
  by[`${x} 3`] = { status: 200, delayMs: 1500 };
  await subscribed.reschedule(x);
  await subscribed.partner.receivedFor(x, 3);
  delete by[`${x} 2`];
  expect((await subscribed.admin('POST', `error-queue/${id}/resend`)).status).toBe(202);
  const requests = await subscribed.partner.receivedFor(x, 4);
  expect(requests.map(({ headers }) => headers['event-sequence'])).toEqual(['1', '2', '3', '2']);
  expect(requests[3].at - requests[2].at).toBeGreaterThanOrEqual(1400);
  await nothingLeft();
  expect(begun).toHaveLength(4);
});
