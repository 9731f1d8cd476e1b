import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { ComponentPropsWithRef, MouseEvent } from 'react';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

interface Props extends Omit<ComponentPropsWithRef<'button'>, 'className' | 'onClick'> {
  kind?: Kind;
  small?: boolean;
  /** Its action is under way: it keeps the focus, and does nothing more. */
  isPending?: boolean;
  /** By the pointer or by a key. */
  onPress?: (event: MouseEvent) => void;
}

/** The browser's own: a list of causes has two in each row, and those of the kit cost it a third of its time. */
export function Button({ kind = 'plain', small = false, isPending = false, onPress, ...props }: Props) {
  return (
    <button
      type="button"
      {...props}
      onClick={(event) => {
        // Safari does not focus what is clicked; a dialog gives the focus back to it.
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

/** A link that looks like a button, for going somewhere. */
export const LinkButton: LinkComponent<typeof Anchor> = createLink(Anchor);
