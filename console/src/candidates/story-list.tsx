import { Link } from '@tanstack/react-router';
import { Badge } from '../components/badge';
import { Code } from '../components/code';
import { failureText } from '../components/failure-text';
import { Empty } from '../components/states';
import { Time } from '../components/time';
import { partnerName } from '../partners/partner-name';
import { ResultButtons } from './result-dialog';
import type { Change, Entry, Notification } from './story';

/** The icon of each kind of timeline entry: a sheet for records, a calendar for bookings, and a tick for results. */
const ICONS: Record<Entry['kind'], string> = {
  ELIGIBILITY: 'M4 2.5h5.5L12 5v8.5H4zM6 7.5h4M6 10h4',
  BOOKING: 'M3 4h10v9H3zM3 7h10M5.5 2.5V5M10.5 2.5V5',
  RESULT: 'M3 8.5l3.2 3.2L13 5',
};

/**
 * Shows the history of a candidate. It consists of changes to records, bookings and results, each with its
 * notifications.
 */
export function StoryList({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return <Empty>Nothing has happened yet.</Empty>;
  return (
    <ol className="story" aria-label="Timeline, newest first">
      {entries.map((entry) => (
        <li key={entry.key} data-kind={entry.kind}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d={ICONS[entry.kind]} />
          </svg>
          <div className="line">
            <strong>{entry.title}</strong>
            {entry.change && <Badge state={entry.change.status} />}
            <span className="story-of">
              {entry.test}
              {entry.change?.booking_code && <Code>{entry.change.booking_code}</Code>}
            </span>
            <Time at={entry.at} short />
          </div>
          {entry.change?.notification && <Appointment of={entry.change} movedFrom={entry.movedFrom} />}
          {entry.result && <ResultButtons result={entry.result} />}
          {entry.notifications.length > 0 && (
            <ul className="story-told" aria-label="Notifications">
              {entry.notifications.map((notification) => (
                <Told key={notification.id} notification={notification} />
              ))}
            </ul>
          )}
        </li>
      ))}
    </ol>
  );
}

/**
 * Shows the appointment that a booking has after a change. If the change moved the exam, also shows the previous start.
 */
function Appointment({ of: { notification }, movedFrom }: { of: Change; movedFrom: string | null }) {
  const { booking_on: at, location_timezone: zone, location_name: name, location_code: code } = notification!;
  return (
    <p className="hint">
      Exam on <Time at={at} short zone={zone} />
      {movedFrom !== null && (
        <>
          , moved from <Time at={movedFrom} short zone={zone} />
        </>
      )}
      {(name ?? code) && (
        <>
          , <bdi>{name ?? code}</bdi>
        </>
      )}
    </p>
  );
}

/** Shows a notification to a partner, and whether it was delivered. */
function Told({ notification }: { notification: Notification }) {
  const { id, state, failure } = notification;
  return (
    <li className="line">
      <Link to="/notifications/$id" params={{ id }}>
        Notification of <bdi>{partnerName(notification)}</bdi>
      </Link>
      <Badge state={state} />
      {failure && <span className="hint">{failureText(failure)}</span>}
    </li>
  );
}
