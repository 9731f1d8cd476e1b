import type { LinkProps } from '@tanstack/react-router';
import type { Session } from './api/session';
import { isPartner } from './own/partner-session';

type Target = Pick<LinkProps, 'to' | 'search' | 'params'>;

export interface Area {
  /** The name of the area in the navigation and in the command palette. */
  label: string;
  target: Target;
  /** Additional words by which users find the area in the command palette. */
  words?: string;
  /** Whether the area is shown only to operators with the `admin` scope, not to those with the `support` scope. */
  adminOnly?: boolean;
  /** Whether the area is listed in the command palette only, not in the navigation. */
  paletteOnly?: boolean;
}

/** The areas of the console in navigation order. */
const AREAS: readonly Area[] = [
  { label: 'Home', target: { to: '/' }, words: 'overview what needs me now' },
  { label: 'Error queue', target: { to: '/queue' }, words: 'failed resend causes undelivered' },
  { label: 'Jobs', target: { to: '/jobs' }, words: 'resends replays progress pause abort' },
  { label: 'Partners', target: { to: '/partners' }, words: 'subscriptions suspend resume verify sample' },
  { label: 'Candidates', target: { to: '/candidates' }, words: 'records eligibilities bookings results' },
  { label: 'Notifications', target: { to: '/notifications' }, words: 'deliveries events bookings' },
  { label: 'Work lists', target: { to: '/work/approvals' }, words: 'approvals holds unmatched results imports' },
  { label: 'Holds', target: { to: '/work/holds' }, paletteOnly: true },
  { label: 'Unmatched results', target: { to: '/work/unmatched' }, paletteOnly: true },
  { label: 'Imports', target: { to: '/work/imports' }, words: 'upload csv dry run', paletteOnly: true },
  { label: 'Set-up', target: { to: '/setup' }, words: 'accounts tests schools vouchers', adminOnly: true },
  { label: 'Users', target: { to: '/setup/users' }, words: 'unlock password', adminOnly: true, paletteOnly: true },
  {
    label: 'Applications',
    target: { to: '/setup/applications' },
    words: 'consumer key',
    adminOnly: true,
    paletteOnly: true,
  },
  {
    label: 'Alerts',
    target: { to: '/setup/alerts' },
    words: 'mail webhook on call',
    adminOnly: true,
    paletteOnly: true,
  },
  { label: 'Connect a client', target: { to: '/setup/connect-client' }, adminOnly: true, paletteOnly: true },
  { label: 'Connect a partner', target: { to: '/setup/connect-partner' }, adminOnly: true, paletteOnly: true },
  { label: 'Audit', target: { to: '/audit' }, words: 'who did what seals' },
];

/**
 * The areas for a partner. A partner sees only pages about its own subscriptions, and none of the pages for operators.
 */
const PARTNER_AREAS: readonly Area[] = [
  { label: 'My subscriptions', target: { to: '/own' } },
  { label: 'My notifications', target: { to: '/own/notifications' } },
];

export interface Finder {
  label: (text: string) => string;
  /**
   * Returns the page to open for the text that the user typed. Returns null if this search cannot find anything for the
   * text, for example because it is not a valid id.
   */
  target: (text: string) => Target | null;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The searches that the command palette offers for the text that the user typed. */
export const FINDERS: readonly Finder[] = [
  {
    label: (text) => `Open notification ${text}`,
    target: (text) => (UUID.test(text) ? { to: '/notifications/$id', params: { id: text } } : null),
  },
  {
    label: (text) => `Candidates matching ${text}`,
    target: (text) => (text.length < 2 ? null : { to: '/candidates', search: { q: text } }),
  },
  {
    label: (text) => `Open partner ${text}`,
    target: (text) => (UUID.test(text) ? { to: '/partners/$id', params: { id: text } } : null),
  },
  {
    label: (text) => `Notifications of booking ${text}`,
    target: (text) => (/^\w{4,50}$/.test(text) ? { to: '/notifications', search: { booking_code: text } } : null),
  },
  {
    label: (text) => `Notifications of candidate ${text}`,
    target: (text) => (UUID.test(text) ? null : { to: '/notifications', search: { candidate_id: text } }),
  },
];

export function areasFor(session: Session): readonly Area[] {
  if (isPartner(session)) return PARTNER_AREAS;
  return AREAS.filter(({ adminOnly }) => !adminOnly || session.scopes.includes('admin'));
}
