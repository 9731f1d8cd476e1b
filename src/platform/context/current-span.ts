import { ContextValue } from './context-value.js';

/** The span of the running work, while tracing is on (observability/tracing.ts). */
export interface CurrentSpan {
  /** The `traceparent` of W3C Trace Context. Work that this span causes has it as its parent. */
  readonly traceparent: string;
}

export const currentSpan = new ContextValue<CurrentSpan | undefined>();
