import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { ComponentPropsWithRef, MouseEvent } from 'react';

type Kind = 'plain' | 'primary' | 'danger';

interface Props extends Omit<ComponentPropsWithRef<'button'>, 'className' | 'onClick'> {
  kind?: Kind;
  small?: boolean;
  /** Whether the action of the button is running. The button then keeps the focus and ignores further presses. */
  isPending?: boolean;
  /** Called when the button is pressed with a pointer or a key. */
  onPress?: (event: MouseEvent) => void;
}

/**
 * A native button. Lists may have two buttons in each row, and the component library's buttons would take a third of
 * the list's rendering time.
 */
export function Button({ kind = 'plain', small = false, isPending = false, onPress, ...props }: Props) {
  return (
    <button
      type="button"
      {...props}
      onClick={(event) => {
        // Safari does not focus a button that is clicked. The click handler focuses it, because a dialog returns the
        // focus to the button when it closes.
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
