import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, newIdempotencyKey } from '../api/client';
import { useScopes } from '../api/session';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { counted } from '../components/counted';
import { toast } from '../components/toast';
import { isOver, kindText, type Job } from './job-text';

type Step = 'pause' | 'resume' | 'abort';

/** Shows buttons that pause, resume or abort a job, even if another operator started it. */
export function JobActions({ job, small = false }: { job: Job; small?: boolean }) {
  const [busy, setBusy] = useState<Step | null>(null);
  const queries = useQueryClient();
  const isAdmin = useScopes().includes('admin');
  if (isOver(job) || (job.kind === 'ERASE' && !isAdmin)) return null;
  const name = `${kindText(job.kind)} of ${job.actor}`;

  async function steer(step: Step): Promise<void> {
    const changed = await dataOf(
      api.POST(`/admin/jobs/{job_id}/${step}`, {
        params: { path: { job_id: job.job_id }, header: { 'Idempotency-Key': newIdempotencyKey() } },
      }),
    );
    queries.setQueryData(['jobs', 'one', job.job_id], changed);
    void queries.invalidateQueries({ queryKey: ['jobs'] });
  }

  async function atOnce(step: 'pause' | 'resume'): Promise<void> {
    setBusy(step);
    try {
      await steer(step);
    } catch (error) {
      toast((error as Error).message, 'bad');
    } finally {
      setBusy(null);
    }
  }

  return (
    <>
      {job.state === 'PAUSED' ? (
        <Button
          small={small}
          kind="primary"
          aria-label={small ? `Resume ${name}` : undefined}
          isPending={busy === 'resume'}
          onPress={() => void atOnce('resume')}
        >
          Resume
        </Button>
      ) : (
        <Button
          small={small}
          aria-label={small ? `Pause ${name}` : undefined}
          isPending={busy === 'pause'}
          onPress={() => void atOnce('pause')}
        >
          Pause
        </Button>
      )}
      <Button
        small={small}
        kind="danger"
        aria-label={small ? `Abort ${name}` : undefined}
        onPress={() =>
          void confirm({
            title: 'Abort this job?',
            text: `${counted(job.waiting, 'notification has', 'notifications have')} not been processed and will stay in the error queue. Delivery attempts that have already begun will finish.`,
            action: 'Abort',
            danger: true,
            perform: () => steer('abort'),
          }).then((done) => done && toast('The job was aborted.'))
        }
      >
        Abort …
      </Button>
    </>
  );
}
