import { ContextValue } from './context-value.js';

/** The tracing span of the current request or job, while tracing is on (observability/tracing.ts). */
export interface CurrentSpan {
  /** The `traceparent` of W3C Trace Context, which names this span as the parent of the work that it causes. */
  readonly traceparent: string;
}

export const currentSpan = new ContextValue<CurrentSpan | undefined>();
