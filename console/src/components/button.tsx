import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button as AriaButton, type ButtonProps } from 'react-aria-components/Button';

type Kind = 'plain' | 'primary' | 'danger' | 'quiet';

interface Props extends Omit<ButtonProps, 'className' | 'children' | 'isPending'> {
  kind?: Kind;
  small?: boolean;
  /** What it began is not over: it keeps the focus, and does nothing more. */
  isPending?: boolean;
  children: ReactNode;
}

export function Button({ kind = 'plain', small = false, isPending = false, onPress, ...props }: Props) {
  return (
    <AriaButton
      {...props}
      onPress={isPending ? undefined : onPress}
      className={`button ${kind}${small ? ' small' : ''}${isPending ? ' pending' : ''}`}
    />
  );
}

function Anchor({ kind = 'plain', ...props }: React.ComponentPropsWithRef<'a'> & { kind?: Kind }) {
  return <a {...props} className={`button ${kind}`} />;
}

/** A link that looks like a button, for going somewhere. */
export const LinkButton: LinkComponent<typeof Anchor> = createLink(Anchor);
