import type { Alert } from './alert.entity.js';
import type { AlertOccurrence } from './alert-occurrence.entity.js';
import type { Condition, ConditionName } from './conditions.js';

const DAY_MS = 86_400_000;
/** The numbers of days before the expiry of a certificate at which a message is sent. */
const EXPIRY_DAYS = [1, 3, 14] as const;
/** The time after a recovery, in milliseconds, for which the recovery and the failures before it are still reported. */
const RECOVERY_MS = 3_600_000;
/**
 * The minimum duration, in milliseconds, of a delivery stall that is reported. Shorter stalls are normal: work that
 * became due while no process ran, or when the sandbox's clock was moved, is done within seconds.
 */
const STALL_MS = 30_000;

/** The waits after the first, second and further failures to send, in seconds; the last wait repeats. */
const RETRY_S = [5, 15, 60, 300, 900, 3600] as const;
export const MOST_RETRY_S = 3600;

export function retrySeconds(failures: number): number {
  return RETRY_S[Math.min(failures, RETRY_S.length) - 1] ?? MOST_RETRY_S;
}

/** Returns the number of days within which the certificate expires: 1, 3 or 14; null if it expires later. */
export function expiringStep(notAfter: Date, now: Date): number | null {
  const left = notAfter.getTime() - now.getTime();
  return EXPIRY_DAYS.find((days) => left <= days * DAY_MS) ?? null;
}

type Watched = Pick<Alert, 'name' | 'conditions' | 'watched_accounts' | 'quiet_s' | 'active_from'>;

/**
 * The current time of a round of checks, by the service's clock and by the machine's clock. The sandbox can move the
 * service's clock.
 */
export interface RoundTimes {
  readonly now: Date;
  readonly machine: Date;
}

/** The result of a round of checks, with the occurrences to store and the conditions that each alert reports. */
export interface Decision {
  readonly occurrences: readonly AlertOccurrence[];
  readonly messages: readonly { readonly alert: string; readonly condition: Condition }[];
}

/**
 * Decides which conditions are reported.
 *
 * 1. A condition is reported when it begins to hold, once for each alert and subject.
 * 2. A condition is reported again when it has ended and holds again, or when its mark (conditions.ts) has grown.
 * 3. A condition is not reported again within the alert's `quiet_s`. If it still holds when that time has passed, it is
 *    reported.
 * 4. A condition that began and ended between two rounds is reported in the later round, unless rule 3 forbids it.
 * 5. If an alert reports failures of partners, it reports a recovery only after it has reported a failure of the
 *    partner.
 */
export function decide(
  alerts: readonly Watched[],
  { conditions, checked }: { conditions: readonly Condition[]; checked: ReadonlySet<ConditionName> },
  stored: readonly AlertOccurrence[],
  times: RoundTimes,
): Decision {
  const known = new Map(stored.map((occurrence) => [keyOf(occurrence), occurrence]));
  const open = new Map(known);
  const occurrences: AlertOccurrence[] = [];
  const messages: Decision['messages'][number][] = [];
  for (const alert of alerts) {
    for (const condition of conditions) {
      if (!isWanted(alert, condition, times.now) || !isOwed(alert, condition, known, times.now)) continue;
      const identity = { alert_name: alert.name, condition: condition.condition, subject: condition.subject };
      const key = keyOf(identity);
      const before = known.get(key) ?? null;
      open.delete(key);
      const { occurrence, isTold } = (condition.endedAt === null ? occur : pass)(
        identity,
        condition,
        before,
        alert.quiet_s,
        times,
      );
      known.set(key, occurrence);
      if (isTold) messages.push({ alert: alert.name, condition });
      if (isTold || before?.is_current !== occurrence.is_current || before.seen_mark !== occurrence.seen_mark)
        occurrences.push(occurrence);
    }
  }
  // An occurrence of a condition that the round did not check is kept, because the condition may still hold.
  for (const occurrence of open.values())
    if (occurrence.is_current && checked.has(occurrence.condition))
      occurrences.push({ ...occurrence, is_current: false, told_mark: null });
  return { occurrences, messages };
}

type Identity = Pick<AlertOccurrence, 'alert_name' | 'condition' | 'subject'>;

/** Decides whether a condition that holds is reported. */
function occur(
  identity: Identity,
  { mark }: Condition,
  before: AlertOccurrence | null,
  quietS: number,
  { now, machine }: RoundTimes,
): { occurrence: AlertOccurrence; isTold: boolean } {
  const seen = before?.is_current ? before.seen_datetime : machine;
  const toldMark = before?.is_current ? before.told_mark : null;
  const told = before?.told_datetime ?? null;
  const isNew = toldMark === null || mark > toldMark;
  const isLasting = identity.condition !== 'DELIVERY_STALLED' || machine.getTime() - seen.getTime() >= STALL_MS;
  const isTold = isNew && isLasting && !isQuiet(told, quietS, now);
  return {
    isTold,
    occurrence: {
      ...identity,
      is_current: true,
      seen_datetime: seen,
      seen_mark: mark,
      told_mark: isTold ? mark : toldMark,
      told_datetime: isTold ? now : told,
    },
  };
}

/**
 * Decides whether a condition that has ended is reported. The condition is new if no earlier round saw it hold or end.
 */
function pass(
  identity: Identity,
  { mark }: Condition,
  before: AlertOccurrence | null,
  quietS: number,
  { now, machine }: RoundTimes,
): { occurrence: AlertOccurrence; isTold: boolean } {
  const told = before?.told_datetime ?? null;
  // The mark of an ended condition is a time. A mark in the future was stored while the clock was wrong, and is
  // ignored.
  const seen = before?.seen_mark == null || before.seen_mark > now.getTime() ? null : before.seen_mark;
  const isNew = !before?.is_current && (seen === null || mark > seen);
  const isTold = isNew && !isQuiet(told, quietS, now);
  return {
    isTold,
    occurrence: {
      ...identity,
      is_current: false,
      seen_datetime: before?.seen_datetime ?? machine,
      seen_mark: Math.max(mark, seen ?? mark),
      told_mark: null,
      told_datetime: isTold ? now : told,
    },
  };
}

/**
 * Returns whether the alert may report the condition. A recovery may be reported only if the alert has reported a
 * failure since the last reported recovery, or if the alert never reports failures. Other conditions may always be
 * reported.
 */
function isOwed(
  { name, conditions }: Watched,
  { condition, subject }: Condition,
  known: ReadonlyMap<string, AlertOccurrence>,
  now: Date,
): boolean {
  const failures = (['PARTNER_FAILING', 'PARTNER_DOWN'] as const).filter((failure) => conditions.includes(failure));
  if (condition !== 'PARTNER_RECOVERED' || failures.length === 0) return true;
  const told = (of: ConditionName) =>
    known.get(keyOf({ alert_name: name, condition: of, subject }))?.told_datetime?.getTime() ?? -Infinity;
  const recovered = told('PARTNER_RECOVERED');
  // A report time in the future is ignored, because it is due to a wrong clock.
  const after = recovered > now.getTime() ? -Infinity : recovered;
  return failures.some((failure) => told(failure) > after);
}

/**
 * Returns whether the quiet time after the last report is still running. A report time in the future is ignored,
 * because it is due to a wrong clock.
 */
function isQuiet(told: Date | null, quietS: number, now: Date): boolean {
  if (told === null) return false;
  const passed = now.getTime() - told.getTime();
  return passed >= 0 && passed < quietS * 1000;
}

function isWanted({ conditions, watched_accounts, active_from }: Watched, found: Condition, now: Date): boolean {
  const { condition, accountCodes, since } = found;
  if (!conditions.includes(condition)) return false;
  const over = condition === 'PARTNER_RECOVERED' ? since : found.endedAt;
  if (over !== null && (since < active_from || now.getTime() - over.getTime() > RECOVERY_MS)) return false;
  // A condition of the whole service concerns every account.
  if (watched_accounts === null || accountCodes === null) return true;
  return accountCodes.some((code) => watched_accounts.includes(code));
}

function keyOf({ alert_name, condition, subject }: Identity): string {
  return JSON.stringify([alert_name, condition, subject]);
}
