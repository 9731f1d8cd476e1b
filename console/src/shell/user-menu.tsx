import { isPartner } from '../own/partner-session';
import { signOut, signOutAtOrganisation, type Session } from '../api/session';
import { ROOT } from '../api/root';
import { useStore } from '../api/store';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Select } from '../components/fields';
import { Isolated } from '../components/isolated';
import { toast } from '../components/toast';
import { chooseTheme, theme, type Theme } from './theme';

export function UserMenu({ session }: { session: Session }) {
  return (
    <div className="user">
      <p className="who">
        <bdi>{session.username}</bdi>
        <small>
          <Rights of={session} />
        </small>
      </p>
      <Select
        label="Theme"
        value={useStore(theme)}
        onChange={(value) => chooseTheme(value as Theme)}
        options={[
          ['system', 'System'],
          ['light', 'Light'],
          ['dark', 'Dark'],
        ]}
      />
      <a href={new URL('docs?session', ROOT).href}>API documentation</a>
      <div className="actions">
        <Button small onPress={() => void leave(() => signOut(false))}>
          Sign out
        </Button>
        <Button small onPress={() => void askEverywhere()}>
          Sign out everywhere …
        </Button>
        {session.organisation && (
          <Button small onPress={() => void leave(signOutAtOrganisation)}>
            Sign out of your organisation too
          </Button>
        )}
      </div>
    </div>
  );
}

/** Shows the accounts that the user may see. */
function Rights({ of: session }: { of: Session }) {
  if (isPartner(session)) return 'Partner';
  if (session.scopes.includes('admin')) return 'All accounts';
  return <Isolated of={session.accounts.map(({ name }) => name)} by=", " />;
}

async function leave(how: () => Promise<void>): Promise<void> {
  try {
    await how();
  } catch (error) {
    toast(`The sign-out failed, and you are still signed in: ${(error as Error).message}`, 'bad');
  }
}

function askEverywhere(): Promise<boolean> {
  return confirm({
    title: 'Sign out everywhere?',
    text: 'All your console sessions will end, in this browser and in all other browsers.',
    action: 'Sign out everywhere',
    perform: () => signOut(true),
  });
}
