/**
 * Tracing with OpenTelemetry's packages, enabled by `OTEL_EXPORTER_OTLP_ENDPOINT`. Without this setting, the packages
 * are not loaded, `tracing` is null, and no function is wrapped.
 *
 * 1. Each request has a span of the kind SERVER. The span belongs to the caller's trace if the request names a trace.
 *    Commands and statements are child spans. A statement that serves several requests at once belongs to no trace.
 * 2. An event stores the span of its command in the `traceparent` column. When the outbox publishes the event, the
 *    publication is a span of the same trace, even in a sweep or in another process. Commands that follow from the
 *    event are child spans.
 * 3. A notification continues the trace: the PUT to the partner is a span of the same trace, of the kind CLIENT. The
 *    `traceparent` header of the PUT names the span.
 *
 * Names and attributes follow OpenTelemetry's semantic conventions. They contain no value of a path, a body or a
 * statement.
 */
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Attributes, Span, SpanKind } from '@opentelemetry/api';
import type { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { version } from '../../../package.json';
import { currentSpan, type CurrentSpan } from '../context/current-span.js';

type Api = typeof import('@opentelemetry/api');
type Kind = keyof typeof SpanKind;

/** A tracing span, and the work that belongs to it. */
class WorkSpan implements CurrentSpan {
  constructor(
    private readonly api: Api,
    readonly span: Span,
  ) {}

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.span.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  /**
   * Ends the span.
   * @param fault the kind of the error that ended the work; never its message, which may quote values
   */
  end(attributes: Attributes = {}, fault: string | null = null): void {
    this.span.setAttributes(attributes);
    if (fault !== null) {
      this.span.setAttribute('error.type', fault);
      this.span.setStatus({ code: this.api.SpanStatusCode.ERROR });
    }
    this.span.end();
  }
}

class Tracing {
  private readonly tracer;

  constructor(
    private readonly api: Api,
    readonly provider: BasicTracerProvider,
  ) {
    this.tracer = provider.getTracer('candidate-eligibility-service', version);
  }

  /**
   * Begins a span.
   * @param parent the parent span, by default the span of the current work; null begins a new trace
   */
  begin(
    name: string,
    kind: Kind,
    attributes: Attributes,
    parent: CurrentSpan | string | null = currentSpan.current ?? null,
  ): WorkSpan {
    const { ROOT_CONTEXT, trace, SpanKind } = this.api;
    const traceparent = typeof parent === 'string' ? parent : parent?.traceparent;
    const [, traceId, spanId, flags] = /^00-(\w{32})-(\w{16})-(\w{2})$/.exec(traceparent ?? '') ?? [];
    const context = traceId
      ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true })
      : ROOT_CONTEXT;
    return new WorkSpan(this.api, this.tracer.startSpan(name, { kind: SpanKind[kind], attributes }, context));
  }

  /** Begins a new span, and runs the work within it. */
  within<T>(
    name: string,
    kind: Kind,
    attributes: Attributes,
    work: () => Promise<T>,
    parent?: CurrentSpan | string | null,
  ): Promise<T> {
    const span = this.begin(name, kind, attributes, parent);
    return currentSpan.run(span, work).then(
      (value) => {
        span.end();
        return value;
      },
      (error: unknown) => {
        span.end({}, kindOf(error));
        throw error;
      },
    );
  }
}

/**
 * The tracing of this process; null while tracing is off. The variable is set once, before any code that reads it is
 * loaded.
 */
export let tracing: Tracing | null = null;

/** Returns the kind of an error in one word: the code of PostgreSQL or Node, or otherwise the name of its class. */
export function kindOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : error instanceof Error ? error.constructor.name : typeof error;
}

/**
 * Starts tracing, unless `endpoint` is null.
 * @param endpoint the address of the collector, which accepts OTLP over HTTP; null if tracing is off
 */
export async function startTracing(endpoint: string | null): Promise<void> {
  if (endpoint === null || tracing !== null) return;
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const provider = new sdk.BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': process.env['OTEL_SERVICE_NAME'] ?? 'candidate-eligibility-service',
      'service.version': version,
    }),
    spanProcessors: [new sdk.BatchSpanProcessor(exporter)],
  });
  tracing = new Tracing(api, provider);
}

/** Sends the last spans to the collector after the application has shut down. */
@Injectable()
export class TracingShutdown implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    const stopped = tracing;
    tracing = null;
    // Errors of the last export are ignored, because an unavailable collector must not delay the shutdown.
    await stopped?.provider.shutdown().catch(() => undefined);
  }
}
