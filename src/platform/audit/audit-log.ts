import type { AuditEntry } from './audit-entry.js';

/**
 * Appends to the record of every administrative and state-changing call; a trigger refuses UPDATE and DELETE.
 * {@link auditValues} are the values, from $`from` on.
 */
export const insertAudit = (from: number): string => `
  INSERT INTO audit_log (actor, action, subject, request_id)
  SELECT * FROM unnest($${from}::text[], $${from + 1}::text[], $${from + 2}::text[], $${from + 3}::text[])`;

export function auditValues(entries: readonly AuditEntry[]): unknown[] {
  return [
    entries.map((entry) => entry.actor),
    entries.map((entry) => entry.action),
    entries.map((entry) => entry.subject),
    entries.map((entry) => entry.requestId),
  ];
}
