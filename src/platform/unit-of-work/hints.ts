import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../database/database.js';
import { Logger } from '../observability/logger.js';
import { UnitOfWork } from './unit-of-work.js';

const NOTIFY = prepared('hints-notify', 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload');

/**
 * Sends messages to the listeners of other processes with NOTIFY (database/listener.ts).
 *
 * A transaction that contains a NOTIFY fails at COMMIT if the server's message queue is full, and any session of any
 * database may fill that queue. A message is therefore sent after the commit, on another connection. A lost message
 * does no harm, because every listener also polls.
 */
@Injectable()
export class Hints {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly logger: Logger,
  ) {}

  /** Sends the given messages after the commit of the current transaction or, outside a transaction, immediately. */
  send(channel: string, payloads: readonly string[]): void {
    if (payloads.length > 0) this.unitOfWork.afterCommit(() => void this.notify(channel, payloads));
  }

  private async notify(channel: string, payloads: readonly string[]): Promise<void> {
    try {
      await this.database.pool.query({ ...NOTIFY, values: [channel, payloads] });
    } catch (error) {
      this.logger.debug({ err: error, channel }, 'a message to other processes could not be sent');
    }
  }
}
