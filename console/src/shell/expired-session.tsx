import type { SignInWays } from '../api/session';
import { Dialog } from '../components/dialog';
import { SignInForm } from './sign-in';

export function ExpiredSession(props: { ways: SignInWays; username: string }) {
  return (
    <Dialog title="Your session has ended">
      <p>Your input is still here. Sign in to continue.</p>
      <SignInForm {...props} />
    </Dialog>
  );
}
