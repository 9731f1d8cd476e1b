import { ContextValue } from './context-value.js';

/** The tracing span of the current request or job, while tracing is on (observability/tracing.ts). */
export interface CurrentSpan {
  /** The W3C Trace Context `traceparent` that names this span as the parent of further work. */
  readonly traceparent: string;
}

export const currentSpan = new ContextValue<CurrentSpan | undefined>();
