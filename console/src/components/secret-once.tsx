import { useBlocker } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button } from './button';
import { confirm } from './confirm';
import { Copyable } from './copy';
import { Dialog } from './dialog';
import { Facts } from './page';

/** Shows secrets in a dialog, which closes when the user confirms that they were copied. */
export function SecretDialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}) {
  useSecretGuard(true);
  return (
    <Dialog title={title}>
      {children}
      <div className="actions end">
        <Button kind="primary" onPress={onClose}>
          I have copied the secret
        </Button>
      </div>
    </Dialog>
  );
}

/**
 * Asks for confirmation before the user leaves a page that shows a secret, because the secret cannot be shown again.
 */
export function useSecretGuard(isShown: boolean): void {
  useBlocker({
    disabled: !isShown,
    // The browser itself asks the user before it reloads or closes the page.
    enableBeforeUnload: isShown,
    shouldBlockFn: async () => {
      const leaves = await confirm({
        title: 'Leave without the secret?',
        text: 'The secret is shown only once. If you have not copied it, you will have to create a new secret.',
        action: 'Leave',
        danger: true,
        perform: () => Promise.resolve(),
      });
      return !leaves;
    },
  });
}

/**
 * A response with a secret that the service shows only once. `isKept` is true after the user has confirmed that the
 * secret was copied.
 */
export type NewSecret<T> = T & { isKept?: boolean };

interface SecretProps {
  label: string;
  secret: string;
  isKept?: boolean;
  /** Called when the user confirms that the secret was copied. */
  keep: () => void;
}

/** Shows a secret until the user confirms that it was copied. */
export function SecretOnce({ label, secret, isKept = false, keep }: SecretProps) {
  useSecretGuard(!isKept);
  if (isKept) return <p className="note">You have copied the secret. It will not be shown again.</p>;
  return (
    <div className="note warn" role="group" aria-label={label}>
      <p>This secret is shown only once. Copy it now.</p>
      <Facts of={[[label, <Copyable text={secret} />]]} />
      <div className="actions">
        <Button onPress={keep}>I have copied the secret</Button>
      </div>
    </div>
  );
}

/** Explains that a secret can no longer be shown, and offers to create a new one. */
export function LostSecret({ lost, renew }: { lost: string; renew: () => Promise<void> }) {
  const ask = () =>
    confirm({
      title: 'Create a new secret?',
      text: 'The new secret will replace the current secret.',
      action: 'Create new secret',
      perform: renew,
    });
  return (
    <div className="note">
      <p>{lost}</p>
      <div className="actions">
        <Button onPress={() => void ask()}>Create a new secret …</Button>
      </div>
    </div>
  );
}
