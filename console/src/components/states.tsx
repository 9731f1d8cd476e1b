import { useDeferredValue, type ReactNode } from 'react';
import { isPassing, ProblemError } from '../api/problem';
import { Button } from './button';
import { Code } from './code';
import { CopyButton } from './copy';
import { FAILURES, reasonText } from './failure-text';
import { Time } from './time';

/** Shows that data is being loaded. The text appears only after a delay. */
export function Loading() {
  return (
    <p className="loading" role="status">
      Loading …
    </p>
  );
}

/** Explains why a list is empty, and what the user can do to see items. */
export function Empty({ children, good = false }: { children: ReactNode; good?: boolean }) {
  return <div className={good ? 'empty good' : 'empty'}>{children}</div>;
}

/**
 * Shows an error with its reason and its faults. Also shows the request id, by which operators can find the request in
 * the log.
 */
export function ProblemNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = error instanceof ProblemError ? error : null;
  const { detail, failure, reason, http_status: status, excerpt, allowed_from: from } = problem?.problem ?? {};
  const words = failure && ((FAILURES as Record<string, string>)[failure] ?? failure);
  const partner = [words, reason && reasonText(reason), status && `HTTP ${status}`].filter(Boolean).join(' · ');
  return (
    <div className="note bad" role="alert">
      <strong>{problem?.message ?? 'This page could not be displayed'}</strong>
      <p>{detail ?? (problem ? '' : String(error))}</p>
      {from !== undefined && (
        <p>
          {from === null ? (
            'No further attempt is allowed.'
          ) : (
            <>
              Allowed from <Time at={from} short />.
            </>
          )}
        </p>
      )}
      {partner && <p>Failure: {partner}</p>}
      {excerpt && <pre>{excerpt}</pre>}
      {problem && problem.faults.length > 0 && (
        <ul>
          {problem.faults.map((fault, index) => (
            <li key={index}>
              {(fault.pointer || fault.parameter) && <Code>{fault.pointer || fault.parameter || ''}</Code>}{' '}
              {fault.detail}
            </li>
          ))}
        </ul>
      )}
      <p className="actions">
        {retry && (problem === null || isPassing(error)) && (
          <Button small onPress={retry}>
            Try again
          </Button>
        )}
        {problem?.requestId && (
          <span className="hint">
            Request id <Code>{problem.requestId}</Code> <CopyButton text={problem.requestId} label="Copy" />
          </span>
        )}
      </p>
    </div>
  );
}

interface Followed {
  isError: boolean;
  error: unknown;
  dataUpdatedAt: number;
  refetch: () => unknown;
}

/**
 * Shows that the data could not be refreshed, and when it was last loaded. The note is below the data, because a note
 * above the data would move it.
 */
export function StaleNote({ of }: { of: Followed }) {
  if (!of.isError || of.dataUpdatedAt === 0) return null;
  return (
    <div className="note warn stale" role="status">
      This data is not up to date. Last loaded: <Time at={new Date(of.dataUpdatedAt).toISOString()} short />.{' '}
      {of.error instanceof Error ? of.error.message : ''}{' '}
      <Button small onPress={() => void of.refetch()}>
        Try again
      </Button>
    </div>
  );
}

/** Returns whether a query still waits for the response to its first attempt. */
export function isFirstAwaited({ isPending, failureCount }: { isPending: boolean; failureCount: number }): boolean {
  return isPending && failureCount === 0;
}

interface Loaded<T> extends Followed {
  data: T | undefined;
}

/**
 * Renders a query's data with low priority, so that a slow phone stays responsive. Use this function only if the whole
 * page depends on the query. Otherwise, other content would move when the data appears.
 */
export function useInParts<T>({ data, isError, error, dataUpdatedAt, refetch }: Loaded<T>): Loaded<T> {
  return { data: useDeferredValue(data, undefined), isError, error, dataUpdatedAt, refetch };
}

/**
 * Shows the data of a query. Before the data has arrived, shows that it is loading or that the query failed. Below
 * stale data, shows a note.
 */
export function Shown<T>({ query, children }: { query: Loaded<T>; children: (data: T) => ReactNode }) {
  if (query.data === undefined)
    return query.isError ? <ProblemNote error={query.error} retry={() => void query.refetch()} /> : <Loading />;
  return (
    <>
      {children(query.data)}
      <StaleNote of={query} />
    </>
  );
}
