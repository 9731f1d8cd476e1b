import { isNativeError } from 'node:util/types';
import { Injectable, type LoggerService } from '@nestjs/common';
import pino, { type Logger as Pino } from 'pino';
import { ObservabilityConfig } from './observability.config.js';
import { requestContext } from '../context/request-context.js';

/**
 * The size of the log's buffer, in bytes, and the interval at which the buffer is written, in milliseconds. Buffered
 * lines are written together, which saves processor time.
 */
const TOGETHER_BYTES = 4096;
const TOGETHER_MS = 200;

// All loggers of the process share one output. This output writes synchronously, so that the last lines are written
// before the process exits.
const output = pino.destination({ sync: true, minLength: TOGETHER_BYTES, periodicFlush: TOGETHER_MS });
process.once('exit', () => output.flushSync());

/**
 * Writes structured log lines to standard output, as one JSON object each. All lines about a request contain the
 * request's id. Never log a body, a header, a path with its values, or an entity.
 */
@Injectable()
export class Logger {
  private readonly pino: Pino;

  constructor(config: ObservabilityConfig) {
    this.pino = pino(
      {
        level: config.logLevel,
        base: undefined,
        timestamp: pino.stdTimeFunctions.isoTime,
        mixin: () => {
          const { requestId } = requestContext();
          return requestId === null ? {} : { request_id: requestId };
        },
        serializers: { err: describeError },
      },
      output,
    );
  }

  /**
   * Runs the work. Only warnings and errors are logged during the work, because the requests that the work makes do not
   * come from clients.
   */
  async quietly<Result>(work: () => Promise<Result>): Promise<Result> {
    const { level } = this.pino;
    if (this.pino.isLevelEnabled('info')) this.pino.level = 'warn';
    try {
      return await work();
    } finally {
      this.pino.level = level;
    }
  }

  debug(fields: object, message: string): void {
    this.pino.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.pino.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.pino.warn(fields, message);
    output.flushSync();
  }

  error(fields: object, message: string): void {
    this.pino.error(fields, message);
    output.flushSync();
  }
}

/**
 * Returns the description of an error for the log. For a database error, only the code, the constraint and the stack
 * are logged, because the message and the detail quote values.
 */
function describeError(error: unknown): object {
  if (!isNativeError(error)) return { type: typeof error };
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  const frames = error.stack?.split('\n').filter((line) => line.trimStart().startsWith('at ')) ?? [];
  return {
    type: error.constructor.name,
    ...(code === undefined ? { message: error.message } : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    stack: frames.slice(0, 12).join('\n'),
  };
}

/** Writes the log messages of the Nest framework to the service's log. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }

  warn(message: unknown, context?: string): void {
    this.logger.warn({ context }, String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error(
      { err: message instanceof Error ? message : undefined, context: rest.at(-1) },
      message instanceof Error ? message.constructor.name : String(message),
    );
  }
}
