import { requestContext } from '../context/request-context.js';
import type { AuditDetails, AuditEntry } from './audit-entry.js';

/** The columns that an INSERT fills, each with the type of its parameter. The order is the order of the values. */
const COLUMNS: readonly (readonly [name: string, type: string, value: (entry: AuditEntry) => unknown])[] = [
  ['actor', 'text', (entry) => entry.actor],
  ['application', 'text', (entry) => entry.application],
  ['account_code', 'text', (entry) => entry.accountCode],
  ['action', 'text', (entry) => entry.action],
  ['subject', 'text', (entry) => entry.subject],
  ['request_id', 'text', (entry) => entry.requestId],
  ['changed', 'text', (entry) => entry.changed && entry.changed.join(',')],
  ['count', 'int', (entry) => entry.count],
  ['address', 'text', (entry) => entry.address],
];
const NAMES = COLUMNS.map(([name]) => name).join(', ');

/**
 * Builds the INSERT of an audit row for every administrative and state-changing call. A trigger refuses UPDATE and
 * DELETE. The values are those of {@link auditValues}, from parameter $`from` on.
 */
export const insertAudit = (from: number): string => `
  INSERT INTO audit_log (${NAMES})
  SELECT ${NAMES.replace('changed', "string_to_array(changed, ',')")}
  FROM unnest(${COLUMNS.map(([, type], at) => `$${from + at}::${type}[]`).join(', ')}) AS entry (${NAMES})`;

export function auditValues(entries: readonly AuditEntry[]): unknown[] {
  return COLUMNS.map(([, , value]) => entries.map(value));
}

/** Builds the entry of an action by the caller of the running request, or by the service itself. */
export function auditEntry(action: string, subject: string, details: AuditDetails = {}): AuditEntry {
  const { caller, requestId, accountCode, members } = requestContext();
  return {
    actor: details.actor ?? caller?.username ?? 'system',
    application: details.application ?? caller?.consumerKey ?? null,
    accountCode: details.accountCode === undefined ? accountCode : details.accountCode,
    action,
    subject,
    requestId,
    changed: details.changed ?? members,
    count: details.count ?? null,
    address: details.address ?? null,
  };
}
