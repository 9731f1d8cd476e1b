import { ELIGIBILITY_STATUSES, statusAt, type EligibilityState } from './eligibility.fields.js';
import {
  chosenPortions,
  isEligibleToSchedule,
  isInWindow,
  isSameSet,
  isUspsCode,
  mayTrigger,
  openStatus,
  statusMessage,
  TRIGGERS,
} from './eligibility.rules.js';

const NOW = new Date('2027-03-01T12:00:00Z');
const SECOND = 1000;
const before = new Date(NOW.getTime() - SECOND);
const after = new Date(NOW.getTime() + SECOND);
const record = (state: Partial<EligibilityState> = {}): EligibilityState => ({
  status: 'ELIGIBLE',
  hold_reason: null,
  approval_pending: false,
  decline_reason: null,
  schedule_start_date: null,
  eligibility_end_date: null,
  ...state,
});

describe('the status of a record', () => {
  it.each(['PENDING', 'ELIGIBLE'] as const)(
    'the status of a record changes from %s to EXPIRED at its end date',
    (status) => {
      expect(statusAt(record({ status, eligibility_end_date: after }), NOW)).toBe(status);
      expect(statusAt(record({ status, eligibility_end_date: NOW }), NOW)).toBe('EXPIRED');
      expect(statusAt(record({ status, eligibility_end_date: before }), NOW)).toBe('EXPIRED');
    },
  );

  it.each(['SCHEDULED', 'COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'] as const)(
    'a record keeps the status %s after its end date',
    (status) => {
      expect(statusAt(record({ status, eligibility_end_date: before }), NOW)).toBe(status);
    },
  );
});

describe('eligible_to_schedule', () => {
  it.each<[string, Partial<EligibilityState>, boolean]>([
    ['ELIGIBLE without a window', {}, true],
    ['ELIGIBLE at its first moment', { schedule_start_date: NOW }, true],
    ['ELIGIBLE before its window', { schedule_start_date: after }, false],
    ['ELIGIBLE at its last moment', { eligibility_end_date: NOW }, false],
    ['PENDING', { status: 'PENDING', approval_pending: true }, false],
    ['SCHEDULED', { status: 'SCHEDULED' }, false],
  ])('decides whether a candidate may schedule an exam with a record that is %s', (_title, state, eligible) => {
    expect(isEligibleToSchedule(record(state), NOW)).toBe(eligible);
  });

  it('a record has a status message if and only if the candidate may not schedule an exam with it', () => {
    for (const status of ELIGIBILITY_STATUSES)
      for (const schedule_start_date of [null, before, after])
        for (const eligibility_end_date of [null, before, after]) {
          const state = record({ status, schedule_start_date, eligibility_end_date });
          expect(statusMessage(state, NOW) === null).toBe(isEligibleToSchedule(state, NOW));
        }
  });

  it('the status message of a record with a hold and a pending approval states the reason for the hold', () => {
    const state = record({ status: 'PENDING', hold_reason: 'Fee unpaid', approval_pending: true });
    expect(statusMessage(state, NOW)).toBe('Blocked: Fee unpaid');
    expect(statusMessage({ ...state, hold_reason: null }, NOW)).toBe('Pending approval of special accommodations');
    expect(statusMessage({ ...state, hold_reason: null, decline_reason: 'No proof' }, NOW)).toBe(
      'Special accommodations declined: No proof',
    );
    expect(statusMessage(record({ status: 'SCHEDULED', hold_reason: 'Fee unpaid' }), NOW)).toBe(
      'Already scheduled, and blocked: Fee unpaid',
    );
  });
});

it('an open record is PENDING as long as an approval is pending or the record is on hold', () => {
  expect(openStatus({ hold_reason: null, approval_pending: false })).toBe('ELIGIBLE');
  expect(openStatus({ hold_reason: 'x', approval_pending: false })).toBe('PENDING');
  expect(openStatus({ hold_reason: null, approval_pending: true })).toBe('PENDING');
});

it('the window of a record includes both its start and its end', () => {
  const window = { schedule_start_date: before, eligibility_end_date: after };
  expect([before, NOW, after].map((moment) => isInWindow(window, moment))).toEqual([true, true, true]);
  expect(isInWindow(window, new Date(before.getTime() - 1))).toBe(false);
  expect(isInWindow(window, new Date(after.getTime() + 1))).toBe(false);
});

it('the status of a cancelled or completed record can no longer change', () => {
  for (const trigger of TRIGGERS)
    expect([mayTrigger('CANCELLED', trigger), mayTrigger('COMPLETED', trigger)]).toEqual([false, false]);
});

it('in the United States, province_state must be a USPS code in upper case', () => {
  for (const code of ['NY', 'DC', 'PR', 'GU', 'VI', 'AS', 'MP', 'AA', 'AE', 'AP'])
    expect([code, isUspsCode(code)]).toEqual([code, true]);
  for (const code of ['ny', 'New York', 'ZZ', 'ON', '']) expect([code, isUspsCode(code)]).toEqual([code, false]);
});

it('a record contains each requested portion once, or the test’s only portion if the request names none', () => {
  expect(chosenPortions([], ['A'])).toEqual(['A']);
  expect(chosenPortions([], ['A', 'B'])).toEqual([]);
  expect(chosenPortions(['B', 'A', 'B'], ['A', 'B'])).toEqual(['B', 'A']);
});

it('lists that represent sets are compared without regard to order or duplicates', () => {
  expect(isSameSet(['a', 'b', 'a'], ['b', 'a'])).toBe(true);
  expect(isSameSet(['a'], ['a', 'b'])).toBe(false);
  expect(isSameSet([], [])).toBe(true);
});
