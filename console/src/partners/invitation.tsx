import { useState } from 'react';
import { api, type Schemas } from '../api/client';
import { CONSOLE_PATH, ROOT } from '../api/root';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Copyable } from '../components/copy';
import { Dialog } from '../components/dialog';
import { Facts } from '../components/page';
import { useSecretGuard } from '../components/secret-once';

interface Invitation {
  username: string;
  password: string;
}

const PASSWORD_BYTES = 18;
const MARK_BYTES = 3;
const LONGEST_NAME = 40;

/** Shows the button with which an operator creates a user for the partner. The user's password is shown once. */
export function InvitePartner({ subscription }: { subscription: Schemas['SubscriptionModel'] }) {
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  useSecretGuard(invitation !== null);

  async function invite() {
    const made = newInvitation(subscription);
    const done = await confirm({
      title: 'Invite this partner to the console?',
      text: 'A user will be created for the partner. The user will see only this subscription and its notifications. The password will be shown only once.',
      action: 'Create the invitation',
      perform: () =>
        api.POST('/admin/users', { body: { ...made, scopes: ['partner'], subscription_ids: [subscription.id] } }),
    });
    if (done) setInvitation(made);
  }

  return (
    <>
      <Button onPress={() => void invite()}>Invite the partner …</Button>
      {invitation && (
        <Dialog title="The invitation">
          <p>The password is shown only once. Send it to the partner through a secure channel.</p>
          <Facts
            of={[
              ['Address', <Copyable key="address" text={new URL(CONSOLE_PATH, ROOT).href} />],
              ['User name', <Copyable key="name" text={invitation.username} />],
              ['Password', <Copyable key="password" text={invitation.password} />],
            ]}
          />
          <div className="actions end">
            <Button kind="primary" onPress={() => setInvitation(null)}>
              I have copied the password
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Returns a random password, and a user name that contains the partner's name or host. */
function newInvitation({ name, partner_url: url }: Schemas['SubscriptionModel']): Invitation {
  const called = (name ?? (url === null ? 'user' : new URL(url).hostname))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, LONGEST_NAME);
  return { username: `partner-${called || 'user'}-${random(MARK_BYTES)}`, password: random(PASSWORD_BYTES) };
}

function random(bytes: number): string {
  const values = crypto.getRandomValues(new Uint8Array(bytes));
  return [...values].map((value) => value.toString(16).padStart(2, '0')).join('');
}
