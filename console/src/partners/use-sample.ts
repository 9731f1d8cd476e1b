import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';

type Body = Schemas['SampleBody'];
type Report = Schemas['SampleReport'];

interface Sample {
  /** The report about the latest sample notification; null before the first report. */
  report: Report | null;
  error: unknown;
  /** The body of the running request for a sample notification or a verification; null if no request is running. */
  busy: Body | null;
  send: (body: Body) => Promise<void>;
}

/**
 * Returns a function that sends sample notifications to a partner, and the report about the latest sample notification.
 */
export function useSample(id: string): Sample {
  const [report, setReport] = useState<Report | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<Body | null>(null);
  const queries = useQueryClient();

  async function send(body: Body) {
    setBusy(body);
    setError(null);
    try {
      setReport(await dataOf(api.POST('/admin/subscriptions/{id}/sample', { params: { path: { id } }, body })));
      await queries.invalidateQueries({ queryKey: ['subscriptions', id] });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(null);
    }
  }

  return { report, error, busy, send };
}
