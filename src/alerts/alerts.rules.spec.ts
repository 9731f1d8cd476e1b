import type { AlertOccurrence } from './alert-occurrence.entity.js';
import { decide, expiringStep, retrySeconds } from './alerts.rules.js';
import type { Condition, ConditionName } from './conditions.js';

const NOW = new Date('2027-01-31T12:00:00Z');
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const ALERT = {
  name: 'on-call',
  conditions: ['PARTNER_DOWN', 'PARTNER_RECOVERED', 'DELIVERY_STALLED', 'EXAM_SOON_UNDELIVERED'] as ConditionName[],
  watched_accounts: null as string[] | null,
  quiet_s: 600,
  active_from: later(-60),
};
const down = (changes: Partial<Condition> = {}): Condition => ({
  condition: 'PARTNER_DOWN',
  subject: 'partner-1',
  accountCodes: ['A'],
  since: NOW,
  endedAt: null,
  mark: 1,
  partner: { subscription_id: 'partner-1', name: 'Board' },
  count: null,
  at: null,
  detail: null,
  ...changes,
});

/** Runs rounds one after another; returns the times, in seconds, at which the rounds decided to send a message. */
function rounds(steps: readonly [seconds: number, found: readonly Condition[]][], alert = ALERT): number[] {
  const stored = new Map<string, AlertOccurrence>();
  const told: number[] = [];
  for (const [seconds, conditions] of steps) {
    const times = { now: later(seconds), machine: later(seconds) };
    const survey = { conditions, checked: new Set(alert.conditions) };
    const { occurrences, messages } = decide([alert], survey, [...stored.values()], times);
    for (const one of occurrences) stored.set(`${one.condition} ${one.subject}`, one);
    for (let n = 0; n < messages.length; n++) told.push(seconds);
  }
  return told;
}

describe('the conditions that an alert reports', () => {
  it('an alert reports a condition only once while the condition lasts', () => {
    expect(
      rounds([
        [0, [down()]],
        [5, [down()]],
        [5_000, [down()]],
      ]),
    ).toEqual([0]);
  });

  it('an alert reports a condition again if it recurs, but not within quiet_s seconds of the last report', () => {
    expect(
      rounds([
        [0, [down()]],
        [5, []],
        [700, [down()]],
      ]),
    ).toEqual([0, 700]);
    expect(
      rounds([
        [0, [down()]],
        [5, []],
        [10, [down()]],
        [599, [down()]],
        [600, [down()]],
      ]),
    ).toEqual([0, 600]);
    expect(
      rounds([
        [0, [down()]],
        [5, []],
        [10, [down()]],
        [20, []],
        [700, []],
      ]),
    ).toEqual([0]);
  });

  it('an alert reports a condition again when it gets worse, but not when it improves', () => {
    expect(
      rounds([
        [0, [down()]],
        [700, [down({ mark: 2 })]],
        [1_400, [down({ mark: 1 })]],
      ]),
    ).toEqual([0, 700]);
  });

  it('an alert reports the same condition separately for each partner', () => {
    expect(
      rounds([
        [0, [down(), down({ subject: 'partner-2' })]],
        [5, [down()]],
      ]),
    ).toEqual([0, 0]);
  });

  it('an alert does not treat a condition as ended if the last round of checks did not check the condition', () => {
    const times = { now: NOW, machine: NOW };
    const first = decide([ALERT], { conditions: [down()], checked: new Set(['PARTNER_DOWN']) }, [], times);
    const unchecked = { conditions: [], checked: new Set<ConditionName>() };
    expect(decide([ALERT], unchecked, first.occurrences, times)).toEqual({ occurrences: [], messages: [] });
  });

  it('an alert reports stalled delivery only after the stall has lasted 30 seconds', () => {
    const stall = down({ condition: 'DELIVERY_STALLED', subject: '', accountCodes: null });
    expect(
      rounds([
        [0, [stall]],
        [29, [stall]],
        [30, [stall]],
      ]),
    ).toEqual([30]);
    expect(
      rounds([
        [0, [stall]],
        [29, []],
        [31, [stall]],
        [60, [stall]],
      ]),
    ).toEqual([]);
  });

  it('an alert reports a recovery only if it is less than an hour old and happened after the alert was enabled', () => {
    const recovered = (seconds: number) => down({ condition: 'PARTNER_RECOVERED', since: later(seconds) });
    const alert = { ...ALERT, conditions: ['PARTNER_RECOVERED'] as ConditionName[] };
    expect(rounds([[0, [recovered(-61)]]], alert)).toEqual([]);
    expect(rounds([[3_000, [recovered(0)]]], alert)).toEqual([3_000]);
    expect(rounds([[3_601, [recovered(0)]]], alert)).toEqual([]);
  });

  it('a failure that began and ended between two checks is reported once, but not within quiet_s of the last report', () => {
    const over = (began: number, ended: number) =>
      down({ since: later(began), endedAt: later(ended), mark: later(ended).getTime() });
    const holds = (since: number) => down({ since: later(since), mark: later(since).getTime() });
    expect(
      rounds([
        [5, [over(1, 3)]],
        [10, [over(1, 3)]],
        [1_000, [over(1, 3)]],
      ]),
    ).toEqual([5]);
    expect(
      rounds([
        [5, [over(1, 3)]],
        [10, [over(6, 8)]],
        [700, [over(6, 8)]],
        [705, [over(701, 703)]],
      ]),
    ).toEqual([5, 705]);
    expect(
      rounds([
        [5, [holds(1)]],
        [700, [over(1, 698)]],
        [705, [over(1, 698)]],
        [710, [over(706, 708)]],
      ]),
    ).toEqual([5, 710]);
  });

  it('an alert does not report a failure that ended more than an hour ago, or that began before the alert was enabled', () => {
    const over = (began: number, ended: number) => down({ since: later(began), endedAt: later(ended) });
    expect(rounds([[3_604, [over(1, 3)]]])).toEqual([]);
    expect(rounds([[5, [over(-61, 3)]]])).toEqual([]);
  });

  it('an alert for both failures and recoveries reports a recovery only if it has reported the failure', () => {
    const at = (condition: ConditionName, seconds: number, ended: number | null = null) =>
      down({
        condition,
        since: later(seconds),
        endedAt: ended === null ? null : later(ended),
        mark: later(ended ?? seconds).getTime(),
      });
    const recovered = (seconds: number) => at('PARTNER_RECOVERED', seconds);
    expect(rounds([[5, [recovered(3)]]])).toEqual([]);
    expect(rounds([[5, [at('PARTNER_DOWN', 1, 3), recovered(3)]]])).toEqual([5, 5]);
    expect(
      rounds([
        [5, [at('PARTNER_DOWN', 1)]],
        [10, [at('PARTNER_DOWN', 1, 8), recovered(8)]],
        [15, [at('PARTNER_DOWN', 1, 8), recovered(8)]],
        // A second failure within quiet_s is not reported, and its recovery is not reported either.
        [500, [at('PARTNER_DOWN', 496)]],
        [505, [at('PARTNER_DOWN', 496, 503), recovered(503)]],
        [1_000, [at('PARTNER_DOWN', 496, 503), recovered(503)]],
      ]),
    ).toEqual([5, 10]);
  });

  it('an alert reports only conditions that affect a watched account or the whole service', () => {
    const watching = { ...ALERT, watched_accounts: ['B'] };
    expect(rounds([[0, [down()]]], watching)).toEqual([]);
    expect(rounds([[0, [down({ accountCodes: ['A', 'B'] })]]], watching)).toEqual([0]);
    expect(rounds([[0, [down({ accountCodes: null })]]], watching)).toEqual([0]);
  });

  it('an alert reports a condition even if the clock was set back after its last report', () => {
    expect(
      rounds([
        [10_000, [down()]],
        [10_005, []],
        [0, [down()]],
      ]),
    ).toEqual([10_000, 0]);
  });
});

describe('the schedule of alerts', () => {
  it('an alert reports the expiry of a certificate three times: 14, 3 and 1 days in advance', () => {
    const steps = [14.1, 14, 3.1, 3, 1.1, 1, 0, -5].map((days) => expiringStep(later(days * 86_400), NOW));
    expect(steps).toEqual([null, 14, 14, 3, 3, 1, 1, 1]);
  });

  it('the wait between attempts to send an alert grows from 5 s to one hour', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 100].map(retrySeconds);
    expect(waits).toEqual([...waits].sort((one, other) => one - other));
    expect([waits[0], waits.at(-1)]).toEqual([5, 3600]);
  });
});
