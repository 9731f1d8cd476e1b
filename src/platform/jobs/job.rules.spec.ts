import { stateAfter } from './job.rules';

test.each([
  ['pause', 'PREPARING', null, 'PAUSED'],
  ['pause', 'RUNNING', 3, 'PAUSED'],
  ['pause', 'PAUSED', 3, 'PAUSED'],
  ['resume', 'PAUSED', 3, 'RUNNING'],
  ['resume', 'PAUSED', null, 'PREPARING'],
  ['resume', 'PREPARING', null, 'PREPARING'],
  ['resume', 'RUNNING', 3, 'RUNNING'],
  ['abort', 'PREPARING', null, 'ABORTED'],
  ['abort', 'RUNNING', 3, 'ABORTED'],
  ['abort', 'PAUSED', 3, 'ABORTED'],
] as const)('the action %s changes a job from %s (matched items: %s) to %s', (action, state, matched, next) => {
  expect(stateAfter(action, { state, matched })).toBe(next);
});

test.each(['DONE', 'ABORTED'] as const)('a job that is %s accepts no action', (state) => {
  for (const action of ['pause', 'resume', 'abort'] as const)
    expect(() => stateAfter(action, { state, matched: 3 })).toThrow('job_finished');
});
