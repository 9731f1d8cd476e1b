import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { failureText, reasonText } from '../components/failure-text';
import { Empty, Shown } from '../components/states';
import { Time } from '../components/time';
import { notificationQuery } from '../notification/notification-query';
import { missingAnswerText } from '../notification/words';
import type { Search } from '../router-search';

/**
 * Shows a button that opens the partner's response to the newest notification in the error queue that matches a filter.
 */
export function LatestAnswer({ filter }: { filter: Search }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button small onPress={() => setOpen(true)}>
        Show the latest answer
      </Button>
      {isOpen && <AnswerDialog filter={filter} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Returns the newest matching notification with its attempts; null if no notification matches any more. */
async function findNewest(filter: Search, signal: AbortSignal): Promise<Schemas['NotificationDetail'] | null> {
  const query = { ...notificationQuery(filter), limit: 1 };
  const [newest] = await dataOf(api.GET('/admin/error-queue', { params: { query }, signal }));
  if (newest === undefined) return null;
  return dataOf(api.GET('/admin/notifications/{id}', { params: { path: { id: newest.id } }, signal }));
}

function AnswerDialog({ filter, onClose }: { filter: Search; onClose: () => void }) {
  const found = useQuery({
    queryKey: ['error-queue', 'latest-answer', filter],
    queryFn: ({ signal }) => findNewest(filter, signal),
    gcTime: 0,
  });
  return (
    <Dialog title="Partner’s latest answer" onClose={onClose}>
      <Shown query={found}>
        {(notification) =>
          notification === null ? (
            <Empty>These notifications are no longer in the error queue.</Empty>
          ) : (
            <Answer of={notification} />
          )
        }
      </Shown>
      <div className="actions end">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Answer({ of: { id, booking_code: booking, attempts } }: { of: Schemas['NotificationDetail'] }) {
  const attempt = attempts.findLast(({ failure }) => failure !== null);
  if (attempt === undefined) return <p>No attempt has been made yet, because the partner is down.</p>;
  return (
    <>
      <p className="line">
        <Badge state={failureText(attempt.failure)} tone="bad" />
        {attempt.http_status !== null && <span>HTTP {attempt.http_status}</span>}
        {attempt.reason && <span>{reasonText(attempt.reason)}</span>}
      </p>
      {attempt.excerpt ? (
        <pre tabIndex={0} aria-label="Partner’s answer">
          {attempt.excerpt}
        </pre>
      ) : (
        <p className="hint">{missingAnswerText(attempt)}</p>
      )}
      <p>
        <Link to="/notifications/$id" params={{ id }}>
          {booking}
        </Link>
        , <Time at={attempt.at} exact short />
      </p>
    </>
  );
}
