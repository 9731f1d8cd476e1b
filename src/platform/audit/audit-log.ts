import { requestContext } from '../context/request-context.js';
import type { AuditDetails, AuditEntry } from './audit-entry.js';

/**
 * The columns of an audit entry. Each column has a name, an SQL type and a function that returns its value. The
 * parameters of the INSERT have the same order.
 */
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
 * Returns the SQL that inserts an audit entry. A trigger refuses UPDATE and DELETE on the table.
 * @param from the number of the statement's first parameter; {@link auditValues} returns the parameters
 */
export const insertAudit = (from: number): string => `
  INSERT INTO audit_log (${NAMES})
  SELECT ${NAMES.replace('changed', "string_to_array(changed, ',')")}
  FROM unnest(${COLUMNS.map(([, type], at) => `$${from + at}::${type}[]`).join(', ')}) AS entry (${NAMES})`;

export function auditValues(entries: readonly AuditEntry[]): unknown[] {
  return COLUMNS.map(([, , value]) => entries.map(value));
}

/**
 * Builds the audit entry for an action. The actor is the caller of the current request or, outside a request, the
 * service itself.
 */
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
