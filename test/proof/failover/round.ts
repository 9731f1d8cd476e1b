import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { startPartner } from '../../support/partner.js';
import { BookingLoad, subscribe } from '../chaos/booking-load.js';
import { judge, settle } from '../chaos/chaos-judge.js';
import { Ledger } from '../chaos/chaos-ledger.js';
import { PacedLedger } from '../chaos/paced-ledger.js';
import { until } from '../daemon.js';
import { prepare, query } from '../../../bench/prepare.js';
import { BackgroundWork, type WorkVerdict } from '../harms/background-work.js';
import { FeedFollower } from './feed-follower.js';
import type { Harm, Stage } from './harm.js';
import { PromotionWatch } from './patroni.js';
import { longestPause, Prober } from './prober.js';

export interface Scene extends Stage {
  /** The address of the proxy in front of the service. */
  readonly baseUrl: string;
  /** The lag of the standbys when the primary fails, in milliseconds; 0 with synchronous replication. */
  readonly behindMs: number;
}

export interface Outcome {
  readonly kind: string;
  readonly promotes: Harm['promotes'];
  readonly changes: number;
  /** The number of changes that were acknowledged and are missing, or were committed and never reached the partner. */
  readonly lost: number;
  /** The number of notifications about changes that the database does not contain. */
  readonly invented: number;
  readonly disorder: number;
  /**
   * The number of acknowledged imports, erasures, bulk jobs and results, and how many of them have wrong or missing
   * effects.
   */
  readonly work: WorkVerdict;
  readonly feedFaults: number;
  /** The time, in milliseconds, from the failure to the promotion of a standby; null if no standby was promoted. */
  readonly promotedMs: number | null;
  /** The times, in milliseconds, from the promotion to the first successful response, and to the last refused call. */
  readonly answeredMs: number | null;
  readonly refusedMs: number | null;
  readonly toldMs: number | null;
  /** The longest time in which no caller got a response, and the longest time in which the partner got no event. */
  readonly callersPauseMs: number;
  readonly partnerPauseMs: number;
  readonly detail: string;
}

const PROMOTED_WITHIN_MS = 90_000;
const REST_MS = 150;

/**
 * Runs one round: creates an account and traffic, causes a failure and repairs it, waits until everything is delivered,
 * and checks the result.
 */
export async function playRound(scene: Scene, harm: Harm, number: number): Promise<Outcome> {
  const { cluster, baseUrl } = scene;
  await cluster.healthy();
  const url = (await cluster.primary()).url('eligibility');
  const { account, token } = await prepare(url, `failover-${number}`);
  const [ledger, paced] = [new Ledger(), new PacedLedger()];
  const partners = await Promise.all([startPartner(), startPartner()]);
  const subscriptionIds: string[] = [];
  for (const [at, one] of [ledger, paced].entries()) {
    subscriptionIds.push(await subscribe(baseUrl, account, token, partners[at]));
    one.listenTo(partners[at]);
  }
  const feed = await FeedFollower.start(baseUrl, account, token);
  const load = new BookingLoad({ baseUrl: () => baseUrl, account, token, restMs: REST_MS });
  const primaryUrl = async () => (await cluster.primary()).url('eligibility');
  const own = await prepare(url, `work-${number}`);
  const work = new BackgroundWork({
    baseUrl: () => baseUrl,
    url: primaryUrl,
    ...own,
    subscriptionId: subscriptionIds[1],
  });
  const prober = new Prober(baseUrl, account, token, load.eligibilities);
  await pause(2_000 + randomInt(1_500));

  const harmed = Date.now();
  const disturbed = setInterval(() => [ledger, paced].forEach((one) => one.killed()), 250);
  const { promotedAt } = await harmAndMend(scene, harm, (moment) => prober.isAnsweredSince(moment));
  clearInterval(disturbed);
  await until('callers are answered', () => prober.isAnsweredSince(Date.now() - 1_000), 60_000);
  await pause(2_000);
  await Promise.all([load.stop(), prober.stop(), work.stop()]);
  const now = await primaryUrl();
  await work.settle();
  await settle(now);
  const verdict = await judge(now, account, load, ledger);
  const ofPaced = await judge(now, account, load, paced);
  const done = await work.judge();
  const kept = await query(now, 'SELECT svc_eligiblity_id AS id FROM eligibilities WHERE account_code = $1', [account]);
  const ids = new Set(kept.map((row) => row['id'] as string));
  const lostEligibilities = [...load.eligibilities].filter((id) => !ids.has(id)).length;
  const faults = await feed.judge(load.eligibilities, load.acknowledged);
  const unexplained = ledger.unexplained();
  await Promise.all(partners.map((partner) => partner.stop()));
  const toldAt = [...ledger.accepted.values()].flatMap(({ at }) => at);
  const since = promotedAt === null ? { answered: null, refused: null } : prober.since(promotedAt);
  const toldSince = promotedAt === null ? [] : toldAt.filter((at) => at > promotedAt).map((at) => at - promotedAt);
  const disorder = {
    gaps: verdict.gaps + ofPaced.gaps,
    overtaken: ledger.overtaken + paced.overtaken,
    'in flight twice': ledger.inFlightTwice + paced.inFlightTwice,
    'unexplained bookings': unexplained.count,
    'duplicates without a cause': verdict.unexplained,
  };
  return {
    kind: harm.kind,
    promotes: harm.promotes,
    changes: verdict.committed + ids.size,
    lost: verdict.lost + ofPaced.lost + lostEligibilities,
    invented: verdict.phantom + ofPaced.phantom,
    work: done,
    disorder: sum(disorder),
    feedFaults: sum({ ...faults }),
    promotedMs: promotedAt === null ? null : promotedAt - harmed,
    answeredMs: since.answered,
    refusedMs: since.refused,
    toldMs: toldSince.length === 0 ? null : Math.min(...toldSince),
    callersPauseMs: longestPause(prober.probes.filter((one) => one.isAnswered).map(({ ended }) => ended)),
    partnerPauseMs: longestPause(toldAt),
    detail: JSON.stringify({ disorder, work: done, feed: faults, lostEligibilities, first: unexplained.first }),
  };
}

/** Causes the failure, waits for its effects, repairs it, and waits until the cluster is healthy. */
async function harmAndMend(
  { behindMs, ...stage }: Scene,
  harm: Harm,
  isAnsweredSince: (moment: number) => boolean,
): Promise<{ promotedAt: number | null }> {
  const { cluster } = stage;
  const primary = await cluster.primary();
  const standbys = cluster.machines.filter((one) => one !== primary);
  const watch = await PromotionWatch.over(standbys);
  try {
    for (const { machine } of behindMs > 0 ? standbys : []) primary.machine.stopsReaching(machine);
    await pause(behindMs);
    const mend = await harm.strike(stage);
    if (harm.promotes) {
      await until('a standby is promoted', () => watch.at !== null, PROMOTED_WITHIN_MS);
      await until('callers are answered', () => isAnsweredSince(watch.at!), 60_000);
    }
    // The routes are restored only after the promotion. Otherwise, the primary's machine would send the standbys data
    // that the dead PostgreSQL had already written.
    for (const { machine } of behindMs > 0 ? standbys : []) primary.machine.reaches(machine);
    await pause(1_000 + randomInt(2_000));
    await mend();
    await cluster.healthy();
    return { promotedAt: watch.at };
  } finally {
    await watch.end();
  }
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
