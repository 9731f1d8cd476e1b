/**
 * Finds the notifications that the service delivered but this partner does not have, and requests a replay of them:
 *
 * 1. For each time step, such as an hour, the digest from the service is compared with the digest of the notifications
 *    in the store.
 * 2. If the two digests of a step differ, the step is divided into smaller steps, until the service can list the
 *    notifications of a step on one page.
 * 3. A notification is missing if the store does not know its id. A replay sends the missing notifications again, by
 *    push or by poll.
 *
 * In a step, the partner may have more notifications than the service. This is not a fault: the service has not
 * recorded a delivery yet, or has deleted old notifications.
 */
import { dateTime, stepsOf, type DigestStep } from './digest.js';
import type { NotificationStore } from './notification-store.js';
import type { PartnerApi } from './partner-api.js';

const MAX_STEPS = 1000;
const HOUR_S = 3600;
const PAGE = 200;
const MAX_IDS = 1000;
/**
 * `heal` lists the notifications of a step by creation time, which may differ from the time of the event. It therefore
 * extends the period by one of these margins, in seconds. If the list has fewer notifications than the digest counts,
 * `heal` tries the next margin.
 */
const MARGINS_S = [5, 60, 3600, 86_400];

export interface HealResult {
  /** The ids of the missing notifications. */
  missing: string[];
  /** The ids of the jobs that send the missing notifications again. */
  jobs: string[];
  /** The number of API calls that were needed to find the missing notifications. */
  calls: number;
}

interface Listed {
  id: string;
  effective_date: string;
}

/**
 * @param from the beginning of the compared period, `YYYY-MM-DDThh:mm:ssZ`; a period longer than an hour is extended to
 * whole hours
 * @throws PartnerApiError
 */
export async function heal(
  api: PartnerApi,
  store: Pick<NotificationStore<unknown>, 'kept'>,
  { from, to }: { from: string; to: string },
): Promise<HealResult> {
  const before = api.calls;
  const missing: string[] = [];
  let [firstS, lastS] = [secondsOf(from), secondsOf(to)];
  // Steps of whole hours cost the service the least, because the service stores their digests.
  if (lastS - firstS > HOUR_S)
    [firstS, lastS] = [Math.floor(firstS / HOUR_S) * HOUR_S, Math.ceil(lastS / HOUR_S) * HOUR_S];
  const ranges: [fromS: number, toS: number][] = [[firstS, lastS]];
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop())
    for (const step of await differingSteps(api, store, ...range)) {
      const [fromS, toS] = [secondsOf(step.from), secondsOf(step.to)];
      if (step.count > PAGE && toS - fromS > 1) ranges.push([fromS, toS]);
      else missing.push(...(await missingIn(api, store, step, fromS, toS)));
    }
  const calls = api.calls - before;
  const jobs: string[] = [];
  for (let start = 0; start < missing.length; start += MAX_IDS) {
    const ids = missing.slice(start, start + MAX_IDS);
    const { body } = await api.call<{ job_id: string }>('POST', 'partner/notifications/replay', { ids });
    jobs.push(body.job_id);
  }
  return { missing, jobs, calls };
}

async function keptIn(store: Pick<NotificationStore<unknown>, 'kept'>, fromS: number, toS: number) {
  if (store.kept === undefined) throw new TypeError('The store does not keep the digests of notifications.');
  return store.kept(fromS, toS);
}

/**
 * Returns the steps in which the service has notifications, and in which the partner's notifications are not exactly
 * the same.
 */
async function differingSteps(
  api: PartnerApi,
  store: Pick<NotificationStore<unknown>, 'kept'>,
  fromS: number,
  toS: number,
): Promise<DigestStep[]> {
  const unit = toS - fromS > HOUR_S ? HOUR_S : 1;
  const stepS = unit * Math.ceil((toS - fromS) / unit / MAX_STEPS);
  const query = new URLSearchParams({
    subscription_id: api.subscriptionId,
    from: dateTime(fromS),
    to: dateTime(toS),
    step_s: String(stepS),
  });
  const { body } = await api.call<DigestStep[]>('GET', `partner/digest?${query.toString()}`);
  const own = stepsOf(await keptIn(store, fromS, toS), fromS, toS, stepS);
  const digests = new Map(own.map((step) => [step.from, step.digest]));
  return body.filter((step) => step.count > 0 && digests.get(step.from) !== step.digest);
}

async function missingIn(
  api: PartnerApi,
  store: Pick<NotificationStore<unknown>, 'kept'>,
  step: DigestStep,
  fromS: number,
  toS: number,
): Promise<string[]> {
  let ids: string[] = [];
  for (const margin of MARGINS_S) {
    ids = await listed(api, step, fromS - margin, toS + margin);
    if (ids.length >= step.count) break;
  }
  // The store is read after the list. A notification that arrives in between is therefore not reported as missing.
  const known = new Set((await keptIn(store, fromS, toS)).map(({ id }) => id));
  return ids.filter((id) => !known.has(id));
}

/**
 * Returns the ids of the delivered notifications that were created in the given period and whose event is in the step.
 */
async function listed(api: PartnerApi, step: DigestStep, fromS: number, toS: number): Promise<string[]> {
  const query = new URLSearchParams({
    subscription_id: api.subscriptionId,
    state: 'DELIVERED',
    from: dateTime(fromS),
    to: dateTime(toS),
    limit: String(PAGE),
  });
  const ids: string[] = [];
  let next: string | null = `partner/notifications?${query.toString()}`;
  while (next !== null) {
    const page: { body: Listed[]; next: string | null } = await api.call('GET', next);
    for (const { id, effective_date: at } of page.body) if (at >= step.from && at < step.to) ids.push(id);
    next = page.next;
  }
  return ids;
}

function secondsOf(dateTimeText: string): number {
  return Date.parse(dateTimeText) / 1000;
}
