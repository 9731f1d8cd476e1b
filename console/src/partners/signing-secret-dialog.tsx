import { Copyable } from '../components/copy';
import { SecretDialog } from '../components/secret-once';

/** Shows a new signing secret, which the service shows only once. */
export function SigningSecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <SecretDialog title="The new signing secret" onClose={onClose}>
      <p>This secret is shown only once. Copy it, and then close this dialog.</p>
      <Copyable text={secret} />
    </SecretDialog>
  );
}
