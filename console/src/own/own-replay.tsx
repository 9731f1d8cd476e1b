import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { api, dataOf, newIdempotencyKey } from '../api/client';
import { serviceNow } from '../api/clock';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Section } from '../components/page';
import { Shown } from '../components/states';
import { toast } from '../components/toast';
import { JobProgress } from '../queue/job-progress';
import { isOver, jobNote, type Job } from '../queue/job-text';
import { ownJobQuery } from './own-queries';

const WEEK_MS = 7 * 86_400_000;

/**
 * Shows a button that replays the last 7 days. If the page's address contains a replay job, shows the progress of the
 * job.
 */
export function OwnReplay() {
  const { job } = useSearch({ from: '/own/$id' });
  const navigate = useNavigate();

  async function replay() {
    await confirm({
      title: 'Replay the last 7 days?',
      text: 'All notifications from the last 7 days that were delivered to you will be sent again, with the same ids and content. Your program can recognise repeated notifications by the webhook-id header.',
      action: 'Replay',
      perform: async () => {
        const from = `${new Date(serviceNow() - WEEK_MS).toISOString().slice(0, 19)}Z`;
        const params = { header: { 'Idempotency-Key': newIdempotencyKey() } };
        const started = await dataOf(api.POST('/partner/notifications/replay', { params, body: { from } }));
        void navigate({ to: '.', search: { job: started.job_id ?? undefined }, resetScroll: false });
      },
    });
  }

  return (
    <Section title="Replay" actions={<Button onPress={() => void replay()}>Replay the last 7 days …</Button>}>
      <p className="hint">
        A replay sends delivered notifications again. Use a replay if your program has lost notifications.
      </p>
      {job !== undefined && <Progress id={job} />}
    </Section>
  );
}

function Progress({ id }: { id: string }) {
  const job = useQuery(ownJobQuery(id));
  return (
    <Shown query={job}>
      {(found) => (
        <div className="panel">
          <p>
            <Badge state={found.state} /> {jobNote(found)}
          </p>
          <JobProgress job={found} />
          {!isOver(found) && <Steering job={found} />}
        </div>
      )}
    </Shown>
  );
}

function Steering({ job: { job_id: id, state } }: { job: Job }) {
  const queries = useQueryClient();

  async function steer(step: 'pause' | 'resume' | 'abort') {
    try {
      const params = { path: { job_id: id }, header: { 'Idempotency-Key': newIdempotencyKey() } };
      queries.setQueryData(
        ownJobQuery(id).queryKey,
        await dataOf(api.POST(`/partner/jobs/{job_id}/${step}`, { params })),
      );
    } catch (error) {
      toast((error as Error).message, 'bad');
    }
  }

  return (
    <div className="actions">
      {state === 'PAUSED' ? (
        <Button onPress={() => void steer('resume')}>Resume the replay</Button>
      ) : (
        <Button onPress={() => void steer('pause')}>Pause the replay</Button>
      )}
      <Button kind="danger" onPress={() => void steer('abort')}>
        Abort the replay
      </Button>
    </div>
  );
}
