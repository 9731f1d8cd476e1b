import { ContextValue } from './context-value.js';

/** The span that the running work belongs to, while spans are made (observability/tracing.ts). */
export interface CurrentSpan {
  /** Of W3C Trace Context: what is caused by this work has it as its parent. */
  readonly traceparent: string;
}

export const currentSpan = new ContextValue<CurrentSpan | undefined>();
