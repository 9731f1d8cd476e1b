/** Who did what to what. `subject` is a code or an id, never a name or a secret. */
export interface AuditEntry {
  actor: string;
  action: string;
  subject: string;
  requestId: string | null;
}
