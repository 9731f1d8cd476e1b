import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Gauge } from 'prom-client';
import { Database, prepared } from '../database/database.js';
import { Logger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';

const READ_EVERY_MS = 5_000;

const FIGURES = prepared(
  'audit-seal-figures',
  `SELECT coalesce((SELECT through FROM audit_seals ORDER BY seal_id DESC LIMIT 1), 0) AS sealed_through,
     newest.seal_id::text AS position, encode(newest.hash, 'hex') AS seal
   FROM (SELECT 1) AS one
   LEFT JOIN LATERAL (SELECT seal_id, hash FROM audit_seals WHERE at < date_trunc('minute', now())
                      ORDER BY seal_id DESC LIMIT 1) newest ON true`,
);

interface Figures {
  sealed_through: number;
  position: string | null;
  seal: string | null;
}

/**
 * Exports the newest seal of the audit log as a metric, so that a copy of the seal is stored on another machine. If the
 * audit log is truncated or rewritten later, the log no longer agrees with the stored metrics (alerts `AuditShrank` and
 * `AuditRewritten`). `verify-audit --from` accepts the value of the `seal` label.
 *
 * The labels name the last seal before the current minute, so all processes export the same time series. There are at
 * most 1,440 different series per day.
 */
@Injectable()
export class AuditMetrics {
  private readonly through: Gauge;
  private readonly seal: Gauge;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    { registry }: Metrics,
  ) {
    const registers = [registry];
    this.through = new Gauge({
      name: 'audit_sealed_through',
      help: 'The highest id of an audit row that a seal has; 0 before the first',
      registers,
    });
    this.seal = new Gauge({
      name: 'audit_seal_info',
      help: 'The newest seal of the audit log when the minute began, by its number and its hash in hex; always 1',
      labelNames: ['position', 'seal'],
      registers,
    });
    this.forget();
  }

  @Interval(READ_EVERY_MS)
  async read(): Promise<void> {
    try {
      const { sealed_through, position, seal } = (await this.database.queryOne<Figures>(FIGURES))!;
      this.forget();
      this.through.set(Number(sealed_through));
      if (position !== null && seal !== null) this.seal.set({ position, seal }, 1);
    } catch (error) {
      this.forget();
      this.logger.warn({ err: error }, 'the newest seal of the audit log could not be read');
    }
  }

  /**
   * Removes the value of the metric while the database does not answer. The value 0 would look as if rows had been
   * deleted from the audit log.
   */
  private forget(): void {
    this.through.remove();
    this.seal.reset();
  }
}
