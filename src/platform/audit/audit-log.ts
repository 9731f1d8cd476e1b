import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../database/database.js';
import type { AuditEntry } from './audit-entry.js';

const APPEND = prepared(
  'audit-append',
  `INSERT INTO audit_log (actor, action, subject, request_id)
   SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])`,
);

/** The append-only record of every administrative and state-changing call; a trigger refuses UPDATE and DELETE. */
@Injectable()
export class AuditLog {
  constructor(private readonly database: Database) {}

  async write(entries: readonly AuditEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.database.query(APPEND, [
      entries.map((entry) => entry.actor),
      entries.map((entry) => entry.action),
      entries.map((entry) => entry.subject),
      entries.map((entry) => entry.requestId),
    ]);
  }
}
