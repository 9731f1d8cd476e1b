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
 * Renders a native button, because the buttons of the component library are slow. In a list with two buttons in each
 * row, they would take a third of the rendering time.
 */
export function Button({ kind = 'plain', small = false, isPending = false, onPress, ...props }: Props) {
  return (
    <button
      type="button"
      {...props}
      onClick={(event) => {
        // Safari does not focus a button that is clicked, so this handler focuses it. If the button opens a dialog, the
        // focus can then return to the button when the dialog closes.
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
