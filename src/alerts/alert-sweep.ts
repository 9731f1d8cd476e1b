import { randomUUID } from 'node:crypto';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { FindAccountNames } from '../platform/known-accounts.js';
import { Clock } from '../platform/clock.js';
import { Database, MACHINE_TIME, prepared } from '../platform/database/database.js';
import { Logger } from '../platform/observability/logger.js';
import { ProcessConfig } from '../platform/process.config.js';
import { sweep } from '../platform/sweep.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { AlertMessage } from './alert-message.entity.js';
import { AlertOccurrence } from './alert-occurrence.entity.js';
import { AlertStore, REMOVED_AT_ONCE } from './alert-store.js';
import { contentOf } from './alert-text.rules.js';
import { Alert } from './alert.entity.js';
import { decide, type Decision, type RoundTimes } from './alerts.rules.js';
import { ConditionSurvey } from './condition-survey.js';

const SWEEP_MS = 5_000;
const RETENTION_MS = 10 * 60_000;
/** The maximum share of a process's time that is spent on surveys. A survey is slow if the error queue is long. */
const SHARE = 1 / 20;
/** The maximum number of rows that one statement processes. */
const ROWS_AT_ONCE = 1000;

const BEGIN = prepared(
  'alerts-begin-round',
  `SELECT pg_try_advisory_xact_lock(hashtext('alerts')) AS alone, statement_timestamp() AS now, ${MACHINE_TIME} AS machine`,
);

/**
 * Decides which conditions are reported to whom.
 *
 * 1. Every few seconds, each process with the `delivery` role tries to take an advisory lock. The process that gets the
 *    lock performs steps 2 and 3; the others skip them.
 * 2. In the transaction of the lock, the conditions are surveyed and compared with the stored occurrences.
 * 3. The same transaction stores the new occurrences and a message for each condition to report. Each report is
 *    therefore decided only once, and no decided message is lost.
 * 4. The sender (alert-sender.ts) sends the stored messages.
 *
 * Never survey before the lock is taken. Otherwise, an older survey could end occurrences that a newer survey has
 * found.
 */
@Injectable()
export class AlertSweep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private notBefore = 0;
  private running: Promise<void> | null = null;

  constructor(
    private readonly config: ProcessConfig,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly survey: ConditionSurvey,
    private readonly queryBus: QueryBus,
    private readonly store: AlertStore,
    private readonly logger: Logger,
    clock: Clock,
  ) {
    clock.follow({ catchUp: () => this.catchUp() });
  }

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await this.running;
  }

  @Interval(SWEEP_MS)
  sweep(): Promise<void> {
    if (this.active && performance.now() >= this.notBefore)
      this.running ??= this.round().finally(() => (this.running = null));
    return this.running ?? Promise.resolve();
  }

  @Interval(RETENTION_MS)
  async retain(): Promise<void> {
    if (!this.active) return;
    await sweep(this.logger, 'old messages of alerts', REMOVED_AT_ONCE, [
      () => this.store.removeMessages(),
      () => this.store.removeOccurrences(),
    ]);
  }

  private async catchUp(): Promise<void> {
    await this.sweep();
    await this.retain();
  }

  private async round(): Promise<void> {
    const begun = performance.now();
    try {
      await this.unitOfWork.run(() => this.decideAll());
    } catch (error) {
      this.logger.warn({ err: error }, 'a round of alerts failed; the next one tries again');
    }
    const now = performance.now();
    this.notBefore = now + (now - begun) / SHARE - SWEEP_MS;
  }

  private async decideAll(): Promise<void> {
    const { manager } = this.database;
    const round = (await this.database.queryOne<RoundTimes & { alone: boolean }>(BEGIN))!;
    if (!round.alone) return;
    const alerts = await manager.findBy(Alert, { disabled: false });
    if (alerts.length === 0) return;
    const names = new Set(alerts.map(({ name }) => name));
    const stored = (await manager.find(AlertOccurrence)).filter(({ alert_name }) => names.has(alert_name));
    const found = await this.survey.run(new Set(alerts.flatMap(({ conditions }) => conditions)));
    await this.save(decide(alerts, found, stored, round), round.now);
  }

  private async save({ occurrences, messages }: Decision, now: Date): Promise<void> {
    const { manager } = this.database;
    for (const rows of chunks(occurrences))
      await manager.upsert(AlertOccurrence, rows, ['alert_name', 'condition', 'subject']);
    if (messages.length === 0) return;
    const codes = new Set(messages.flatMap(({ condition }) => condition.accountCodes ?? []));
    const accounts = await this.queryBus.execute(new FindAccountNames([...codes]));
    const names = new Map(accounts.map(({ account_code, name }) => [account_code, name]));
    const rows = messages.map(({ alert, condition }) => ({
      id: randomUUID(),
      alert_name: alert,
      content: contentOf(condition, names),
      created_datetime: now,
      sent_datetime: null,
    }));
    for (const some of chunks(rows)) await manager.insert(AlertMessage, some);
  }
}

function chunks<Row>(rows: readonly Row[]): Row[][] {
  const all: Row[][] = [];
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) all.push(rows.slice(from, from + ROWS_AT_ONCE));
  return all;
}
