import type { Option } from '../components/fields';

/** The conditions that alerts report, with their texts on the screen. They are in display order. */
export const CONDITION_OPTIONS: readonly Option[] = [
  ['PARTNER_FAILING', 'Notifications to a partner begin to fail'],
  ['PARTNER_DOWN', 'A partner is down'],
  ['PARTNER_RECOVERED', 'A partner has recovered'],
  ['EXAM_SOON_UNDELIVERED', 'A notification about an exam that starts within 2 hours has not been delivered'],
  ['UNMATCHED_RESULTS', 'A result has been unmatched for more than 1 hour'],
  ['APPROVALS_WAITING', 'A record has been waiting for approval for more than 1 day'],
  ['CERTIFICATE_EXPIRING', 'A certificate expires in 14 days, 3 days or 1 day'],
  ['AUDIT_BROKEN', 'The audit log does not match its seals'],
  ['DELIVERY_STALLED', 'Notifications that are due are not being sent'],
];

export function conditionText(condition: string): string {
  return CONDITION_OPTIONS.find(([name]) => name === condition)?.[1] ?? condition;
}
