import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface Props {
  id: string;
  children: ReactNode;
}

export function PartnerLink({ id, children }: Props) {
  return (
    <Link to="/partners/$id" params={{ id }}>
      <bdi>{children}</bdi>
    </Link>
  );
}

export function PartnerSettingsLink({ id, children }: Props) {
  return (
    <Link to="/partners/$id/settings" params={{ id }}>
      <bdi>{children}</bdi>
    </Link>
  );
}
