import { Command } from '@nestjs/cqrs';
import type { NotificationFilter } from './notifications.dto.js';
import type { ResendJob } from '../delivery/resend-job.entity.js';

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

/** Makes a resend job of what matches now, or with `dryRun` only counts it. */
export class ResendMatching extends Command<{ resend_id: string | null; matched: number }> {
  constructor(
    readonly filter: NotificationFilter,
    readonly reason: string,
    readonly dryRun: boolean,
  ) {
    super();
  }
}

export class SteerResend extends Command<ResendJob> {
  constructor(
    readonly resendId: string,
    readonly action: 'pause' | 'resume' | 'abort',
  ) {
    super();
  }
}
