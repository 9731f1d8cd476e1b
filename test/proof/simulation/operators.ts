import type { Command } from '@nestjs/cqrs';
import { ResendNotification, StartJob, SteerJob } from '../../../src/notifications/error-queue/error-queue.commands.js';
import {
  ChangeSubscription,
  ResumeSubscription,
  SuspendSubscription,
} from '../../../src/notifications/subscriptions/subscriptions.commands.js';
import type { Story } from './story.js';

interface Subject {
  readonly id: string;
  readonly url: string;
  readonly booking: string;
  readonly sequence: number;
}

/**
 * Simulates the actions of operators on partners, waiting events and jobs. Checks that the service keeps its promises
 * to operators.
 */
export class SimulatedOperators {
  /** The subscriptions and jobs with an operator's request that is not answered yet. */
  private readonly asked = new Set<string>();
  /**
   * The jobs whose pause or abort was answered, each with the number of attempts that had started before the answer.
   */
  private readonly stopped = new Map<string, number>();

  constructor(private readonly story: Story) {}

  get isBusy(): boolean {
    return this.asked.size > 0;
  }

  /** Suspends the partner, or resumes it. */
  async suspendOrResume(partner: number): Promise<void> {
    const { partners, subscriptions, urls } = this.story;
    const [id, url] = [subscriptions[partner], urls[partner]];
    if (this.asked.has(id)) return;
    this.asked.add(id);
    if (partners.suspensionOf(url) !== null) {
      partners.suspend(url, false);
      this.story.tell(`resume ${url}`);
      this.execute(new ResumeSubscription(id), () => void this.asked.delete(id));
    } else {
      this.story.tell(`suspend ${url}`);
      this.execute(new SuspendSubscription(id), (error) => {
        if (error === null) partners.suspend(url, true);
        else this.story.tell(`suspend ${url}: ${(error as Error).message}`);
        this.asked.delete(id);
      });
    }
    await this.story.turns.quiet();
  }

  /** Changes the partner between PUSH and POLL. */
  async turn(partner: number): Promise<void> {
    const { partners, service, subscriptions, urls } = this.story;
    const [id, url] = [subscriptions[partner], urls[partner]];
    if (this.asked.has(id)) return;
    const [stored] = await service.rows('SELECT delivery FROM subscriptions WHERE id = $1', [id]);
    const delivery = stored['delivery'] === 'PUSH' ? 'POLL' : 'PUSH';
    this.asked.add(id);
    partners.ways.delete(url);
    this.story.tell(`change ${url} to ${delivery}`);
    this.execute(new ChangeSubscription(id, { delivery }), (error) => {
      if (error === null) partners.ways.set(url, { delivery });
      this.story.tell(`${url} is ${error === null ? delivery : (error as Error).message}`);
      this.asked.delete(id);
    });
    await this.story.turns.quiet();
  }

  /** Resends one event of the error queue. */
  async resend(): Promise<void> {
    const queued = await this.subjects(`n.state = 'ERROR_QUEUE'`);
    if (queued.length === 0) return;
    const { id, url, booking, sequence } = this.story.chance.pick(queued);
    this.story.tell(`resend ${url} ${booking} ${sequence}`);
    this.story.partners.ask(url, booking, sequence);
    this.execute(new ResendNotification(id, null));
    await this.story.turns.quiet();
  }

  /**
   * Starts a bulk job, which either resends or resolves a partner's waiting events, or replays its delivered events.
   */
  async startJob(): Promise<void> {
    const { chance, subscriptions, urls } = this.story;
    const kind = chance.pick(['RESEND', 'RESEND', 'REPLAY', 'RESOLVE'] as const);
    const subscription_id = chance.pick(subscriptions);
    this.story.tell(`${kind} of ${urls[subscriptions.indexOf(subscription_id)]}`);
    this.execute(new StartJob(kind, { subscription_id }, 'simulated', false));
    await this.story.turns.quiet();
  }

  /**
   * Pauses, resumes or aborts a job. Once the service has answered a pause or an abort, no attempt of the job may
   * start.
   */
  async steerJob(): Promise<void> {
    const jobs = await this.jobs(`state IN ('PREPARING', 'RUNNING', 'PAUSED')`);
    if (jobs.length === 0) return;
    const { id } = this.story.chance.pick(jobs);
    const action = this.story.chance.pick(['pause', 'resume', 'abort'] as const);
    if (this.asked.has(id)) return;
    this.asked.add(id);
    this.story.tell(`${action} job ${id}`);
    await this.assertStopped(id);
    this.stopped.delete(id);
    this.execute(new SteerJob(id, action), async (error) => {
      this.asked.delete(id);
      if (error !== null || action === 'resume') return;
      const [job] = await this.jobs(`id = '${id}'`);
      this.stopped.set(id, job.sent);
    });
    await this.story.turns.quiet();
  }

  /** Resumes all partners, including partners for which a request to suspend is not answered yet. */
  async resumeAll(): Promise<void> {
    const rows = await this.story.service.rows(`SELECT id, partner_url FROM subscriptions WHERE state = 'SUSPENDED'`);
    for (const { id, partner_url } of rows as { id: string; partner_url: string }[]) {
      this.story.partners.suspend(partner_url, false);
      this.asked.add(id);
      this.story.tell(`resume ${partner_url}`);
      this.execute(new ResumeSubscription(id), () => void this.asked.delete(id));
      await this.story.turns.quiet();
    }
  }

  async resumeJobs(): Promise<void> {
    for (const { id } of await this.jobs(`state = 'PAUSED'`)) {
      await this.assertStopped(id);
      this.stopped.delete(id);
      this.asked.add(id);
      this.story.tell(`resume job ${id}`);
      this.execute(new SteerJob(id, 'resume'), () => void this.asked.delete(id));
      await this.story.turns.quiet();
    }
  }

  /** Checks that no attempt of a stopped job has started since the request to stop the job was answered. */
  async assertAllStopped(): Promise<void> {
    for (const id of this.stopped.keys()) await this.assertStopped(id);
  }

  private async assertStopped(id: string): Promise<void> {
    const sent = this.stopped.get(id);
    if (sent === undefined) return;
    const [job] = await this.jobs(`id = '${id}'`);
    if (job.sent > sent) this.story.partners.breaks('an item of a job begins after its pause or abort was answered');
  }

  private async jobs(where: string): Promise<{ id: string; state: string; sent: number }[]> {
    const rows = await this.story.service.rows(
      `SELECT id, state, (SELECT coalesce(sum(p.sent), 0) FROM job_parts p WHERE p.job_id = jobs.id)::int AS sent
       FROM jobs WHERE ${where} ORDER BY position`,
    );
    return rows as { id: string; state: string; sent: number }[];
  }

  private async subjects(where: string): Promise<Subject[]> {
    const rows = await this.story.service.rows(
      `SELECT n.id, s.partner_url AS url, n.booking_code AS booking, n.event_sequence AS sequence
       FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id WHERE ${where} ORDER BY n.position`,
    );
    return rows as Subject[];
  }

  private execute(command: Command<unknown>, then: (error: unknown) => Promise<void> | void = () => undefined): void {
    void this.story.service.execute(command).then(
      () => then(null),
      (error: unknown) => then(error),
    );
  }
}
