import type { Schemas } from '../api/client';
import { counted } from '../components/counted';
import { failureText } from '../components/failure-text';
import type { Option } from '../components/fields';
import { partnerName } from '../partners/partner-name';
import { filterTexts, type QueueFilter } from './filter-text';

export type Job = Schemas['JobModel'];

const KINDS: Record<Job['kind'], string> = {
  RESEND: 'Resend',
  REPLAY: 'Replay',
  RESOLVE: 'Resolve',
  ERASE: 'Erasure',
};

export function kindText(kind: Job['kind']): string {
  return KINDS[kind];
}

/** Returns the conditions of a job's filter, except the partner and the account. */
export function conditionsOf({ filter }: Job): QueueFilter {
  const { subscription_id: _partner, account_code: _account, ...others } = filter as QueueFilter;
  return others;
}

/** Returns the name of the partner that a job concerns; null if the job is not limited to one partner. */
export function partnerOf({ subscription_name, partner_url }: Job): string | null {
  const isNamed = subscription_name != null || partner_url != null;
  return isNamed ? partnerName({ subscription_name, partner_url: partner_url ?? null }) : null;
}

/** Describes in words the conditions of a job's filter, except partner and account. */
export function conditionTexts(job: Job): string[] {
  return filterTexts(conditionsOf(job)).map(([name, value]) => `${name}: ${value}`);
}

/**
 * Describes in words which rows a job concerns. The text is for a CSV file, in which an account is named by its code.
 */
export function scopeText(job: Job): string {
  const whose = partnerOf(job) ?? job.account_code ?? (job.kind === 'ERASE' ? null : 'All partners');
  return [whose, ...conditionTexts(job)].filter(Boolean).join(' · ');
}

export const KIND_OPTIONS: readonly Option[] = Object.entries(KINDS);
export const JOB_STATE_OPTIONS: readonly Option[] = ['PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED'].map(
  (state): Option => [state, state.charAt(0) + state.slice(1).toLowerCase()],
);

export function isOver({ state }: Job): boolean {
  return state === 'DONE' || state === 'ABORTED';
}

/**
 * Returns whether the counts of the job may still change. When a job is aborted, some notifications may already be on
 * their way. Their outcomes are still counted.
 */
export function isMoving(job: Job): boolean {
  return !isOver(job) || (job.state === 'ABORTED' && job.sent > job.delivered + job.failed);
}

/** Describes the progress of a job in one sentence. */
export function jobNote(job: Job): string {
  const { state, kind, waiting, delivered, failed, skipped } = job;
  switch (state) {
    case 'PREPARING':
      return 'The service is finding the notifications that match the filter.';
    case 'PAUSED':
      return pauseNote(job);
    case 'ABORTED':
      return kind === 'REPLAY'
        ? `${counted(waiting, 'notification was', 'notifications were')} not sent again.`
        : waiting === 1
          ? '1 notification was not processed and stays in the error queue.'
          : `${waiting.toLocaleString('en')} notifications were not processed and stay in the error queue.`;
    case 'RUNNING':
      if (kind === 'RESOLVE' || kind === 'ERASE') return 'Running.';
      return delivered === 0 && failed === 0
        ? 'Sending one notification to each partner first.'
        : 'Sending the notifications.';
    case 'DONE':
      if (skipped === 0) return 'Done.';
      return skipped === 1
        ? 'Done. 1 notification was skipped, because it was already delivered or resolved.'
        : `Done. ${skipped.toLocaleString('en')} notifications were skipped, because they were already delivered or resolved.`;
  }
}

/** Explains why a job is paused. Either an operator paused it, or notifications to its partners failed. */
function pauseNote({ paused_by: by, paused_because: because }: Job): string {
  if (because === 'operator' || because == null)
    return `This job was paused by ${by ?? 'an operator'}. Delivery attempts that have already begun will finish.`;
  const failures = because
    .split(', ')
    .map((failure) => failureText(failure as Schemas['NotificationModel']['failure']));
  return `This job was paused automatically, because deliveries failed: ${failures.join(', ')}. Resume the job when the affected partners are healthy again.`;
}
