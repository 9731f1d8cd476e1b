import { currentSpan } from '../context/current-span.js';
import { kindOf, tracing } from '../observability/tracing.js';

type Query = (...args: unknown[]) => unknown;
type Callback = (error: unknown, result?: unknown) => void;

/**
 * Wraps the `query` method of a pool or of a connection, so that each statement of traced work gets a span. Without
 * tracing, `query` is unchanged. A span has the name of the prepared statement or, for a statement without a name, the
 * first word of its text. The full text is never used as the name, because it may contain values.
 */
export function withSpans(owner: { query: unknown }): void {
  if (tracing === null) return;
  const query = (owner.query as Query).bind(owner);
  owner.query = (...args: unknown[]) => {
    const name = nameOf(args[0]);
    if (tracing === null || currentSpan.current === undefined || name === null) return query(...args);
    const span = tracing.begin(name, 'CLIENT', { 'db.system.name': 'postgresql', 'db.query.summary': name });
    const last = args.at(-1);
    if (typeof last === 'function') {
      const traced: Callback = (error, result) => {
        span.end({}, error ? kindOf(error) : null);
        (last as Callback)(error, result);
      };
      return query(...args.slice(0, -1), traced);
    }
    const answer = query(...args) as Promise<unknown>;
    answer.then(
      () => span.end(),
      (error: unknown) => span.end({}, kindOf(error)),
    );
    return answer;
  };
}

/** Returns the span name of a statement; null for an object that sends its own messages, such as a COPY. */
function nameOf(statement: unknown): string | null {
  if (typeof statement === 'string') return wordOf(statement);
  const { name, text } = statement as { name?: unknown; text?: unknown };
  if (typeof name === 'string') return name;
  return typeof text === 'string' ? wordOf(text) : null;
}

function wordOf(text: string): string {
  return (/\w+/.exec(text)?.[0] ?? 'statement').toUpperCase();
}
