import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { FindRetentionRules, type RetentionRule } from '../accounts/accounts.queries.js';
import { ProcessConfig } from '../platform/process.config.js';
import { FindDormantCandidates } from '../eligibility/eligibility.queries.js';
import { Clock } from '../platform/clock.js';
import { DomainError } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import type { Candidate } from '../platform/personal-data.js';
import { ForgetMedia } from '../results/results.commands.js';
import { Erasure } from './erasure.js';

const POLL_MS = 15_000;
/**
 * The interval between two rounds of the sweep, in milliseconds by the service's clock. If the sandbox's clock is
 * moved, the next round begins immediately.
 */
const ROUND_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

type Dormant = { candidateIds: string[]; next: string | null };

/**
 * Erases photos, video links and candidates when the accounts' retention periods are over. Several processes may sweep
 * at the same time.
 */
@Injectable()
export class RetentionSweep {
  private sweeping = false;
  private lastRound = -Infinity;

  constructor(
    private readonly config: ProcessConfig,
    private readonly logger: Logger,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly erasure: Erasure,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(POLL_MS)
  async poll(): Promise<void> {
    const now = this.clock.now().getTime();
    if (now - this.lastRound < ROUND_MS) return;
    this.lastRound = now;
    await this.run();
  }

  async run(): Promise<void> {
    if (!this.config.roles.has('delivery') || this.sweeping) return;
    this.sweeping = true;
    try {
      for (const rule of await this.queryBus.execute(new FindRetentionRules())) await this.apply(rule);
    } catch (error) {
      this.logger.warn(
        { err: error },
        'the sweep of data after its retention period failed; the next round tries again',
      );
    } finally {
      this.sweeping = false;
    }
  }

  private async apply(rule: RetentionRule): Promise<void> {
    const accountCode = rule.account_code;
    const before = (days: number) => new Date(this.clock.now().getTime() - days * DAY_MS);
    if (rule.photo_retention_days !== null)
      await this.commandBus.execute(new ForgetMedia(accountCode, 'photo', before(rule.photo_retention_days)));
    if (rule.video_retention_days !== null)
      await this.commandBus.execute(new ForgetMedia(accountCode, 'video_link', before(rule.video_retention_days)));
    if (rule.candidate_retention_days === null) return;
    const since = before(rule.candidate_retention_days);
    for (let after: string | null = ''; after !== null;) {
      const dormant: Dormant = await this.queryBus.execute(new FindDormantCandidates(accountCode, since, after));
      for (const candidateId of dormant.candidateIds) await this.erase({ accountCode, candidateId });
      after = dormant.next;
    }
  }

  /** Erases a candidate whose retention period is over, unless the candidate has a new booking. */
  private async erase(candidate: Candidate): Promise<void> {
    try {
      await this.erasure.erase(candidate);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
}
