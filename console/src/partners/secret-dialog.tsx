import { Button } from '../components/button';
import { Copyable } from '../components/copy';
import { Dialog } from '../components/dialog';
import { useSecretGuard } from '../components/secret-once';

/** Shows a new signing secret, which the service shows only once. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  useSecretGuard(true);
  return (
    <Dialog title="The new signing secret">
      <p>This secret is shown only once. Copy it, and then close this dialog.</p>
      <Copyable text={secret} />
      <div className="actions end">
        <Button kind="primary" onPress={onClose}>
          I have copied the secret
        </Button>
      </div>
    </Dialog>
  );
}
