import { defineProblem } from '../errors.js';
import type { JobState } from './job.entity.js';

const jobFinished = defineProblem(
  'job_finished',
  'conflict',
  'The job has finished',
  'A job that has finished or was aborted can no longer be paused, resumed or aborted.',
);

export type JobAction = 'pause' | 'resume' | 'abort';

/** The value of `paused_because` for a job that an operator paused. */
export const BY_OPERATOR = 'operator';

/**
 * Returns the state of a job after an operator's action.
 * @throws DomainError `job_finished`
 */
export function stateAfter(
  action: JobAction,
  { state, matched }: { state: JobState; matched: number | null },
): JobState {
  if (state === 'DONE' || state === 'ABORTED') throw jobFinished.error();
  if (action === 'abort') return 'ABORTED';
  if (action === 'pause') return 'PAUSED';
  return matched === null ? 'PREPARING' : 'RUNNING';
}
