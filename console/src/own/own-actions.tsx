import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { ProblemNote } from '../components/states';
import { toast } from '../components/toast';
import { SigningSecretDialog } from '../partners/signing-secret-dialog';

/** Shows the buttons for a partner's actions on its own subscription. */
export function OwnActions({ subscription }: { subscription: Schemas['OwnSubscription'] }) {
  const { id, state, suspended_by: by } = subscription;
  const [secret, setSecret] = useState<string | null>(null);
  const [sample, setSample] = useState<{ busy: boolean; error: unknown; done: boolean }>(NO_SAMPLE);
  const queries = useQueryClient();
  const params = { path: { id } };
  const refresh = () => queries.invalidateQueries({ queryKey: ['own', 'subscriptions'] });

  async function pause() {
    const done = await confirm({
      title: 'Pause the delivery?',
      text: 'You will receive no notifications until you resume the delivery. Your events will be kept, and then sent in order.',
      action: 'Pause',
      perform: () => api.POST('/partner/subscriptions/{id}/suspend', { params }),
    });
    if (done) toast('The delivery was paused. Your events are kept until you resume the delivery.');
    await refresh();
  }

  async function resume() {
    const done = await confirm({
      title: 'Resume the delivery?',
      text: 'All waiting notifications will be sent now, oldest first.',
      action: 'Resume',
      perform: () => api.POST('/partner/subscriptions/{id}/resume', { params }),
    });
    if (done) toast('The delivery was resumed.');
    await refresh();
  }

  async function rotate() {
    const done = await confirm({
      title: 'Create a new signing secret?',
      text: 'The new secret will be shown only once. For 24 hours, requests will be signed with both the old and the new secret, so that you have time to switch your program to the new secret.',
      action: 'Create new secret',
      perform: async () => {
        const made = await dataOf(api.POST('/partner/subscriptions/{id}/rotate-secret', { params }));
        setSecret(made.signing_secret);
      },
    });
    if (done)
      toast('The new secret was created. For 24 hours, requests are signed with both the old and the new secret.');
  }

  async function send() {
    setSample({ ...NO_SAMPLE, busy: true });
    try {
      await api.POST('/partner/subscriptions/{id}/verify', { params });
      setSample({ ...NO_SAMPLE, done: true });
    } catch (error) {
      setSample({ ...NO_SAMPLE, error });
    }
    await refresh();
  }

  return (
    <>
      <div className="actions partner-actions">
        {state === 'ACTIVE' && <Button onPress={() => void pause()}>Pause …</Button>}
        {state === 'SUSPENDED' && by === 'PARTNER' && (
          <Button kind="primary" onPress={() => void resume()}>
            Resume …
          </Button>
        )}
        <Button kind={state === 'UNVERIFIED' ? 'primary' : 'plain'} isPending={sample.busy} onPress={() => void send()}>
          Send a sample
        </Button>
        <Button onPress={() => void rotate()}>Rotate the secret …</Button>
      </div>
      <div aria-live="polite">
        {sample.done && <p className="note">Your endpoint answered the sample with status 200.</p>}
        {sample.error !== null && <ProblemNote error={sample.error} />}
      </div>
      {secret !== null && <SigningSecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

const NO_SAMPLE = { busy: false, error: null as unknown, done: false };
