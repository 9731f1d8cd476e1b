import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { useScopes } from '../api/session';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { counted } from '../components/counted';
import { toast } from '../components/toast';
import { InvitePartner } from './invitation';
import { SigningSecretDialog } from './signing-secret-dialog';

/** Shows the buttons for an operator's actions on a partner. */
export function PartnerActions({ subscription }: { subscription: Schemas['SubscriptionModel'] }) {
  const { id, name, partner_url: url, state } = subscription;
  const [secret, setSecret] = useState<string | null>(null);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isAdmin = useScopes().includes('admin');
  const params = { path: { id } };

  async function settled(text: string) {
    toast(text);
    await Promise.all(
      [['subscriptions', id], ['partners'], ['error-queue']].map((queryKey) => queries.invalidateQueries({ queryKey })),
    );
  }

  async function suspend() {
    const done = await confirm({
      title: 'Suspend this partner?',
      text: 'No notifications will be sent until you resume the partner. Its events will be kept, and then sent in order.',
      action: 'Suspend',
      perform: () => api.POST('/admin/subscriptions/{id}/suspend', { params }),
    });
    if (done) await settled('The partner was suspended. Its events are kept until you resume the partner.');
  }

  async function resume() {
    const done = await confirm({
      title: 'Resume this partner?',
      text: 'All waiting notifications will be sent now, oldest first.',
      action: 'Resume',
      perform: () => api.POST('/admin/subscriptions/{id}/resume', { params }),
    });
    if (done) await settled('The partner was resumed.');
  }

  async function rotate() {
    const done = await confirm({
      title: 'Create a new signing secret?',
      text: 'The new secret will be shown only once. For 24 hours, requests will be signed with both the old and the new secret, so that the partner has time to switch to the new secret.',
      action: 'Create new secret',
      perform: async () => {
        const made = await dataOf(api.POST('/admin/subscriptions/{id}/rotate-secret', { params }));
        setSecret(made.signing_secret);
      },
    });
    if (done) await settled('The new secret was created.');
  }

  async function remove() {
    const statistics = await dataOf(api.GET('/admin/subscriptions/{id}/statistics', { params }));
    const waiting = statistics.bookings_waiting;
    const done = await confirm({
      title: 'Delete this partner?',
      text: (
        <>
          <p>
            <bdi>{name ?? url ?? 'This partner'}</bdi> will receive no more notifications.{' '}
            {waiting === 0
              ? 'No notification is waiting for this partner.'
              : `The undelivered events for ${counted(waiting, 'booking', 'bookings')} will be resolved and never sent.`}
          </p>
          <p>This cannot be undone.</p>
        </>
      ),
      action: 'Delete',
      danger: true,
      typed: 'delete',
      perform: () => api.DELETE('/admin/subscriptions/{id}', { params }),
    });
    if (!done) return;
    toast('The partner was deleted.');
    await navigate({ to: '/partners' });
    queries.removeQueries({ queryKey: ['subscriptions', id] });
    await queries.invalidateQueries({ queryKey: ['partners'] });
  }

  return (
    <div className="actions partner-actions">
      {state === 'ACTIVE' && <Button onPress={() => void suspend()}>Suspend …</Button>}
      {state === 'SUSPENDED' && (
        <Button kind="primary" onPress={() => void resume()}>
          Resume …
        </Button>
      )}
      {isAdmin && (
        <>
          <InvitePartner subscription={subscription} />
          <Button onPress={() => void rotate()}>Rotate the secret …</Button>
          <Button kind="danger" onPress={() => void remove()}>
            Delete …
          </Button>
        </>
      )}
      {secret !== null && <SigningSecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </div>
  );
}
