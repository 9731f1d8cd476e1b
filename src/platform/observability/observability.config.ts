import type { EnvironmentReader } from '../environment-reader.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** The settings of the log, the metrics and the traces. */
export class ObservabilityConfig {
  readonly logLevel: (typeof LOG_LEVELS)[number];
  readonly metricsPort: number;
  readonly metricsHost: string;
  /** The address of the trace collector (OTLP over HTTP); null disables tracing. */
  readonly otlpEndpoint: string | null;

  constructor(read: EnvironmentReader) {
    this.logLevel = read.oneOf('LOG_LEVEL', 'info', LOG_LEVELS);
    this.metricsPort = read.integer('METRICS_PORT', 9464, 0, 65535);
    this.metricsHost = read.text('METRICS_HOST', '127.0.0.1');
    this.otlpEndpoint = read.httpUrl('OTEL_EXPORTER_OTLP_ENDPOINT');
  }
}
