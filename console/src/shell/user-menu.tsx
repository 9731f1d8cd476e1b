import { isPartner } from '../own/partner-session';
import { signOut, signOutAtOrganisation, type Session } from '../api/session';
import { ROOT } from '../api/root';
import { useStore } from '../api/store';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Select } from '../components/fields';
import { toast } from '../components/toast';
import { chooseTheme, theme, type Theme } from './theme';

export function UserMenu({ session }: { session: Session }) {
  return (
    <div className="user">
      <p className="who">
        <bdi>{session.username}</bdi>
        <small>{rightsText(session)}</small>
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

function rightsText(session: Session): string {
  if (isPartner(session)) return 'Partner';
  return session.scopes.includes('admin') ? 'All accounts' : session.accounts.map(({ name }) => name).join(', ');
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
