import type { Option } from '../components/fields';

/** The conditions of alerts, with the words for them, in display order. */
export const CONDITION_OPTIONS: readonly Option[] = [
  ['PARTNER_FAILING', 'A partner begins to fail'],
  ['PARTNER_DOWN', 'A partner is down'],
  ['PARTNER_RECOVERED', 'A partner has recovered'],
  ['EXAM_SOON_UNDELIVERED', 'An exam starts within 2 hours, and a notification is undelivered'],
  ['UNMATCHED_RESULTS', 'A result has been unmatched for more than 1 hour'],
  ['APPROVALS_WAITING', 'An approval has been waiting for more than a day'],
  ['CERTIFICATE_EXPIRING', 'A certificate expires in 14 days, 3 days or 1 day'],
  ['AUDIT_BROKEN', 'The audit log does not agree with its seals'],
  ['DELIVERY_STALLED', 'The service does not send due notifications'],
];

export function conditionText(condition: string): string {
  return CONDITION_OPTIONS.find(([name]) => name === condition)?.[1] ?? condition;
}
