import type { SignInWays } from '../api/session';
import { Dialog } from '../components/dialog';
import { SignInForm } from './sign-in';

export function ExpiredSession(props: { ways: SignInWays; username: string }) {
  return (
    <Dialog title="Your session has ended">
      <p>What you typed is still there. Sign in to go on.</p>
      <SignInForm {...props} />
    </Dialog>
  );
}
