import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { ComponentPropsWithRef, MouseEvent } from 'react';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

interface Props extends Omit<ComponentPropsWithRef<'button'>, 'className' | 'onClick'> {
  kind?: Kind;
  small?: boolean;
  /** Whether its action is running: the button keeps the focus and ignores further presses. */
  isPending?: boolean;
  /** Called for a press by pointer or key. */
  onPress?: (event: MouseEvent) => void;
}

/**
 * A native button: a list of causes has two per row, and the component library's buttons take a third of its rendering
 * time.
 */
export function Button({ kind = 'plain', small = false, isPending = false, onPress, ...props }: Props) {
  return (
    <button
      type="button"
      {...props}
      onClick={(event) => {
        // Safari does not focus a clicked button; a closing dialog returns the focus to it.
        event.currentTarget.focus({ preventScroll: true });
        if (!isPending) onPress?.(event);
      }}
      className={`button ${kind}${small ? ' small' : ''}${isPending ? ' pending' : ''}`}
    />
  );
}

function Anchor({ kind = 'plain', ...props }: ComponentPropsWithRef<'a'> & { kind?: Kind }) {
  return <a {...props} className={`button ${kind}`} />;
}

/** A link that looks like a button, for navigation. */
export const LinkButton: LinkComponent<typeof Anchor> = createLink(Anchor);
