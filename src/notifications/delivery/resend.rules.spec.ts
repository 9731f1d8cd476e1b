import { decideResend, isResendDone, resendRoom, type DueItem, type JobProgress } from './resend.rules';

const job = (changes: Partial<JobProgress> = {}): JobProgress => ({
  state: 'RUNNING',
  canary: false,
  matched: 10,
  sent: 0,
  delivered: 0,
  failed: 0,
  skipped: 0,
  ...changes,
});
const item = (position: number, changes: Partial<DueItem> = {}): DueItem => ({
  position,
  state: 'ERROR_QUEUE',
  leased: false,
  partner_state: 'ACTIVE',
  partner_health: 'UP',
  ...changes,
});

test('until the first delivery events go one at a time', () => {
  expect(resendRoom(job({ canary: true }))).toBe(1);
  expect(resendRoom(job({ canary: true, sent: 1 }))).toBe(0);
  expect(resendRoom(job({ canary: true, sent: 1, failed: 1 }))).toBe(1);
  expect(resendRoom(job({ sent: 10, delivered: 4 }))).toBe(250);
});

test('what has left the queue is skipped', () => {
  const items = [item(1, { state: 'DELIVERED' }), item(2), item(3, { state: 'PENDING' }), item(4)];
  expect(decideResend(job(), items)).toEqual({ send: [2, 4], skip: [1, 3], pause: false });
});

test('an automatic retry under way is waited for, with all that comes later', () => {
  expect(decideResend(job(), [item(1), item(2, { leased: true }), item(3)])).toEqual({
    send: [1],
    skip: [],
    pause: false,
  });
});

test.each(['SUSPENDED', 'UNVERIFIED'] as const)('a partner that is %s pauses the job', (partner_state) => {
  expect(decideResend(job({ canary: true }), [item(1, { partner_state })])).toEqual({
    send: [],
    skip: [],
    pause: true,
  });
});

test('a partner that is DOWN pauses the job, but the first event may try it', () => {
  const down = [item(1, { partner_health: 'DOWN' })];
  expect(decideResend(job(), down).pause).toBe(true);
  expect(decideResend(job({ canary: true }), down)).toEqual({ send: [1], skip: [], pause: false });
});

test('done when every item has its outcome', () => {
  expect(isResendDone(job({ delivered: 5, failed: 3, skipped: 2 }))).toBe(true);
  expect(isResendDone(job({ delivered: 5, failed: 3, skipped: 1 }))).toBe(false);
});
