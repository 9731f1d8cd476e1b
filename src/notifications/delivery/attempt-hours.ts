import { Injectable } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { CountAttempts, type AttemptCount } from '../notifications.queries.js';

const HOUR_MS = 3_600_000;
const HOURS = 24;
/**
 * The number of most recent hours whose counts may still change. An attempt is recorded when it ends, but it counts in
 * the hour in which it started.
 */
const OPEN_HOURS = 2;
/**
 * The maximum share of the process's time that counting attempts may take. The share is limited, because counting many
 * attempts is slow.
 */
const SHARE = 1 / 20;

/**
 * Counts delivery attempts by account and hour. $1: the start of the first hour. The statement reads one range of a
 * covering index for each partner.
 */
const COUNT = prepared(
  'attempt-hours-count',
  `SELECT s.account_code, hour."from", sum(hour.delivered)::int AS delivered, sum(hour.failed)::int AS failed
   FROM subscriptions s CROSS JOIN LATERAL (
     SELECT date_trunc('hour', a.at, 'UTC') AS "from", count(*) FILTER (WHERE a.failure IS NULL) AS delivered,
       count(a.failure) AS failed
     FROM notification_attempts a WHERE a.subscription_id = s.id AND a.at >= $1 GROUP BY 1) hour
   GROUP BY 1, 2`,
  acrossAccounts.figures,
);

/**
 * Counts delivery attempts by account and hour. The process keeps the counts of an hour that can no longer change, and
 * does not count that hour again.
 */
@Injectable()
@QueryHandler(CountAttempts)
export class AttemptHours implements IQueryHandler<CountAttempts> {
  private readonly over = new Map<number, AttemptCount[]>();
  private counts: readonly AttemptCount[] = [];
  private underWay: Promise<readonly AttemptCount[]> | null = null;
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async execute(): Promise<readonly AttemptCount[]> {
    if (performance.now() < this.notBefore) return this.counts;
    return (this.underWay ??= this.count().finally(() => (this.underWay = null)));
  }

  private async count(): Promise<readonly AttemptCount[]> {
    const begun = performance.now();
    const present = Math.floor(this.clock.now().getTime() / HOUR_MS);
    const first = present - HOURS + 1;
    const open = present - OPEN_HOURS + 1;
    for (const hour of this.over.keys()) if (hour < first) this.over.delete(hour);
    let from = first;
    while (this.over.has(from)) from += 1;
    const rows = await this.database.query<AttemptCount>(COUNT, [new Date(from * HOUR_MS)]);
    for (let hour = from; hour < open; hour++)
      this.over.set(
        hour,
        rows.filter((row) => row.from.getTime() === hour * HOUR_MS),
      );
    const kept = [...this.over].filter(([hour]) => hour < from).flatMap(([, counts]) => counts);
    this.counts = [...kept, ...rows];
    const now = performance.now();
    this.notBefore = now + (now - begun) / SHARE;
    return this.counts;
  }
}
