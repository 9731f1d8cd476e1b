import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { api, newIdempotencyKey } from '../api/client';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { toast } from '../components/toast';

type Deed = 'resend' | 'resolve';

interface Progress {
  done: number;
  refused: number;
  of: number;
}

const AT_ONCE = 4;

/**
 * Shows buttons for actions on the rows that the user has selected. Each row is a separate request, and the user can
 * stop between two requests.
 */
export function ChosenRows({ ids, clear }: { ids: readonly string[]; clear: () => void }) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const stopped = useRef(false);
  const queries = useQueryClient();
  if (ids.length === 0 && progress === null) return null;

  async function perform(deed: Deed, reason: string): Promise<void> {
    const waiting = [...ids];
    const state = { done: 0, refused: 0, of: waiting.length };
    stopped.current = false;
    setProgress({ ...state });
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined && !stopped.current; id = waiting.shift()) {
        await one(deed, id, reason).catch(() => state.refused++);
        state.done++;
        setProgress({ ...state });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    setProgress(null);
    clear();
    void queries.invalidateQueries({ queryKey: ['error-queue'] });
    const { done, refused, of } = state;
    const word = deed === 'resend' ? 'resent' : 'resolved';
    toast(
      `${(done - refused).toLocaleString('en')} of ${of.toLocaleString('en')} ${word}.${refused > 0 ? ` ${refused.toLocaleString('en')} could not be ${word}, because they had left the error queue or the service refused the request.` : ''}`,
      refused > 0 ? 'bad' : 'plain',
    );
  }

  function ask(deed: Deed) {
    let why = '';
    const one = ids.length === 1 ? 'this notification' : `these ${ids.length.toLocaleString('en')} notifications`;
    void confirm({
      title: deed === 'resend' ? `Resend ${one}?` : `Resolve ${one}?`,
      text:
        deed === 'resend'
          ? 'Each notification is sent now, even if its partner is down.'
          : 'Resolve notifications when their events were handled in another way. The notifications are kept, but never sent again.',
      reason: deed === 'resend' ? 'optional' : 'required',
      action: `${deed === 'resend' ? 'Resend' : 'Resolve'} ${ids.length.toLocaleString('en')}`,
      perform: (reason) => {
        why = reason;
        return Promise.resolve();
      },
    }).then((agreed) => (agreed ? perform(deed, why) : undefined));
  }

  return (
    <div className="chosen" role="group" aria-label="Selected rows">
      {progress ? (
        <>
          <span role="status">
            {progress.done.toLocaleString('en')} of {progress.of.toLocaleString('en')} …
          </span>
          <Button small onPress={() => (stopped.current = true)}>
            Stop
          </Button>
        </>
      ) : (
        <>
          <strong>{ids.length.toLocaleString('en')} selected</strong>
          <Button small kind="primary" onPress={() => ask('resend')}>
            Resend selected …
          </Button>
          <Button small onPress={() => ask('resolve')}>
            Resolve selected …
          </Button>
          <Button small kind="quiet" onPress={clear}>
            Clear selection
          </Button>
        </>
      )}
    </div>
  );
}

function one(deed: Deed, id: string, reason: string) {
  const params = { path: { notification_id: id }, header: { 'Idempotency-Key': newIdempotencyKey() } };
  return deed === 'resend'
    ? api.POST('/admin/error-queue/{notification_id}/resend', { params, body: reason ? { reason } : {} })
    : api.POST('/admin/error-queue/{notification_id}/resolve', { params, body: { reason } });
}
