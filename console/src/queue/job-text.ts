import type { Schemas } from '../api/client';
import type { Option } from '../components/fields';
import { failureText } from '../notification/words';

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

export const KIND_OPTIONS: readonly Option[] = Object.entries(KINDS);
export const JOB_STATE_OPTIONS: readonly Option[] = ['PREPARING', 'RUNNING', 'PAUSED', 'DONE', 'ABORTED'].map(
  (state): Option => [state, state.charAt(0) + state.slice(1).toLowerCase()],
);

export function isOver({ state }: Job): boolean {
  return state === 'DONE' || state === 'ABORTED';
}

/** Whether figures of it may still change: an aborted job learns what became of what was on its way. */
export function isMoving(job: Job): boolean {
  return !isOver(job) || (job.state === 'ABORTED' && job.sent > job.delivered + job.failed);
}

/** What is going on, in one sentence. */
export function jobNote(job: Job): string {
  const { state, kind, waiting, delivered, failed, skipped } = job;
  switch (state) {
    case 'PREPARING':
      return 'Looking for what fits; the set is frozen then.';
    case 'PAUSED':
      return pauseNote(job);
    case 'ABORTED':
      return `${waiting.toLocaleString('en')} were not begun; they stay as they were.`;
    case 'RUNNING':
      if (kind === 'RESOLVE' || kind === 'ERASE') return 'At work.';
      return delivered === 0 && failed === 0 ? 'Each partner gets one first.' : 'Sending.';
    case 'DONE':
      return skipped > 0
        ? `${skipped.toLocaleString('en')} were settled otherwise before their turn.`
        : 'All are through.';
  }
}

/** Who paused it, or what became of its partners. */
function pauseNote({ paused_by: by, paused_because: because }: Job): string {
  if (because === 'operator' || because == null)
    return `Paused by ${by ?? 'an operator'}: nothing more begins; what is on its way comes to its end.`;
  const failures = because
    .split(', ')
    .map((failure) => failureText(failure as Schemas['NotificationModel']['failure']));
  return `Paused by itself, because its partners failed: ${failures.join(', ')}. Resume it when they are well.`;
}
