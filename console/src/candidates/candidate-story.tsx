import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Schemas } from '../api/client';
import { Button } from '../components/button';
import { List } from '../components/list';
import { CsvButton } from '../components/list-csv';
import { Section } from '../components/page';
import { isFirstAwaited, Loading, ProblemNote, StaleNote } from '../components/states';
import type { Column } from '../components/table';
import { partnerName } from '../partners/partner-name';
import { auditOf, candidateQueries, type CandidatePath } from './candidate-queries';
import { storyOf, type Entry } from './story';
import { StoryList } from './story-list';

interface Props {
  path: CandidatePath;
}

/** The maximum number of changes in the service's response about one candidate. */
const MOST_CHANGES = 500;

/**
 * Shows the candidate's history as one timeline. The parts of the timeline are fetched at the same time and shown
 * together. Otherwise, a part that arrives late would move the parts that are already shown.
 */
export function CandidateStory({ path }: Props) {
  const parts = candidateQueries(path);
  const changes = useQuery(parts.changes);
  const results = useQuery(parts.results);
  const notifications = useInfiniteQuery(parts.notifications);
  const entries = useMemo(
    () => storyOf(changes.data ?? [], results.data ?? [], notifications.data?.pages.flatMap(({ rows }) => rows) ?? []),
    [changes.data, results.data, notifications.data],
  );
  const all = [changes, results, notifications];
  if (all.some(isFirstAwaited)) return <Loading />;
  const failed = all.find(({ data, isError }) => data === undefined && isError);
  return (
    <>
      <Section
        title="Timeline"
        actions={
          <CsvButton
            name="candidate-timeline"
            columns={STORY_COLUMNS}
            load={() => Promise.resolve({ rows: entries, next: null })}
          />
        }
      >
        {failed ? (
          <ProblemNote error={failed.error} retry={() => all.forEach((each) => void each.refetch())} />
        ) : (
          <>
            <StoryList entries={entries} />
            {changes.data?.length === MOST_CHANGES && (
              <p className="hint">Only the newest {MOST_CHANGES.toLocaleString('en')} changes are shown.</p>
            )}
            {notifications.hasNextPage && (
              <div className="actions">
                <Button isPending={notifications.isFetchingNextPage} onPress={() => void notifications.fetchNextPage()}>
                  Show older notifications
                </Button>
              </div>
            )}
            <StaleNote of={all.find(({ isError }) => isError) ?? changes} />
          </>
        )}
      </Section>
      <Audit path={path} />
    </>
  );
}

/** The columns of the timeline's CSV file. */
const STORY_COLUMNS: readonly { header: string; text: (entry: Entry) => string | null | undefined }[] = [
  { header: 'When', text: ({ at }) => at },
  { header: 'Event', text: ({ title }) => title },
  { header: 'Test', text: ({ test }) => test },
  { header: 'Status after', text: ({ change }) => change?.status },
  { header: 'Booking', text: ({ change }) => change?.booking_code },
  { header: 'Exam', text: ({ change }) => change?.notification?.booking_on },
  {
    header: 'Notifications',
    text: ({ notifications }) => notifications.map((one) => `${partnerName(one)}: ${one.state}`).join('; '),
  },
];

const AUDIT: readonly Column<Schemas['AuditEntryModel']>[] = [
  { id: 'action', header: 'Action', kind: 'main', text: ({ action }) => action },
  { id: 'actor', header: 'By', text: ({ actor }) => actor },
  {
    id: 'changed',
    header: 'Changed',
    text: ({ changed }) => changed.join(', '),
  },
  { id: 'at', header: 'When', as: 'time', text: ({ at }) => at },
  { id: 'subject', header: 'Subject', hidden: true, text: ({ subject }) => subject },
];

/** Shows the audit entries about the candidate's data. They are loaded only when an operator asks for them. */
function Audit({ path }: Props) {
  const [shown, setShown] = useState(false);
  return (
    <Section title="Audit" actions={!shown && <Button onPress={() => setShown(true)}>Show the audit log</Button>}>
      {shown && (
        <List
          name="candidate-audit"
          caption="Audit entries, newest first"
          columns={AUDIT}
          rowKey={({ id }) => String(id)}
          {...auditOf(path)}
          empty="No entries."
        />
      )}
    </Section>
  );
}
