import { Command } from '@nestjs/cqrs';
import type { JobAction } from '../../platform/jobs/job.rules.js';
import type { Count } from '../delivery/job-preparation.js';
import type { NotificationConditions } from '../delivery/notification-filter.js';

export class ResendNotification extends Command<void> {
  constructor(
    readonly id: string,
    readonly reason: string | null,
  ) {
    super();
  }
}

export class ResolveNotification extends Command<void> {
  constructor(
    readonly id: string,
    readonly reason: string,
  ) {
    super();
  }
}

/** Creates a bulk job for all notifications that match now. With `dryRun`, only counts these notifications. */
export class StartJob extends Command<StartedJob> {
  constructor(
    readonly kind: 'RESEND' | 'REPLAY' | 'RESOLVE',
    readonly filter: NotificationConditions,
    readonly reason: string,
    readonly dryRun: boolean,
  ) {
    super();
  }
}

/** The id of the new bulk job, and the number of its notifications. `jobId` is null after a dry run. */
export interface StartedJob extends Count {
  jobId: string | null;
}

export class SteerJob extends Command<void> {
  constructor(
    readonly jobId: string,
    readonly action: JobAction,
  ) {
    super();
  }
}
