import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, pageOf, type Schemas } from '../api/client';
import { AccountNames } from '../components/account-name';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { ProblemError } from '../api/problem';
import { AlertDialog } from './alert-dialog';
import { conditionText, CONDITION_OPTIONS } from './alert-text';
import { SetupNav } from './setup-nav';

type Alert = Schemas['AlertModel'];

export function AlertsPage() {
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Alert | 'new' | null>(null);
  const columns = useMemo<readonly Column<Alert>[]>(() => {
    const changed = () => void queries.invalidateQueries({ queryKey: ['alerts'] });
    return [
      {
        id: 'name',
        header: 'Alert',
        kind: 'main',
        cell: ({ name, disabled }) => (
          <>
            <bdi>{name}</bdi> {disabled && <Badge state="DISABLED" tone="warn" />}
          </>
        ),
        text: ({ name }) => name,
      },
      { id: 'to', header: 'Recipient', text: recipientOf },
      { id: 'conditions', header: 'Conditions', text: conditionsOf },
      {
        id: 'accounts',
        header: 'Accounts',
        hidden: true,
        cell: ({ account_codes: codes }) => (codes.length === 0 ? 'All accounts' : <AccountNames codes={codes} />),
        text: ({ account_codes: codes }) => codes.join(', ') || 'All accounts',
      },
      { id: 'sent', header: 'Last sent', as: 'time', text: ({ last_sent_datetime: at }) => at },
      {
        id: 'error',
        header: 'Last error',
        cell: ({ last_error: error, last_error_datetime: at }) =>
          error !== null &&
          at !== null && (
            <>
              {error}, <Time at={at} />
            </>
          ),
        text: ({ last_error: error }) => error,
      },
      { id: 'waiting', header: 'Waiting messages', kind: 'number', hidden: true, text: ({ waiting }) => waiting },
      {
        id: 'do',
        header: 'Action',
        cell: (alert) => (
          <div className="actions">
            <Button small aria-label={`Edit ${alert.name}`} onPress={() => setEdited(alert)}>
              Edit …
            </Button>
            <Button
              small
              aria-label={`Send a test message for ${alert.name}`}
              onPress={() => void sendTest(alert).then(changed)}
            >
              Send a test
            </Button>
            <Button small aria-label={`Delete ${alert.name}`} onPress={() => void remove(alert).then(changed)}>
              Delete …
            </Button>
          </div>
        ),
      },
    ];
  }, [queries]);

  return (
    <Page
      title="Alerts"
      trail={<SetupNav />}
      lead="An alert notifies people by e-mail, or another system by webhook, when something needs attention. It sends one message when a condition begins, and another message if the condition ends and begins again."
      actions={
        <Button kind="primary" onPress={() => setEdited('new')}>
          New alert …
        </Button>
      }
    >
      <List
        name="alerts"
        caption="Alerts, newest first"
        columns={columns}
        rowKey={({ name }) => name}
        queryKey={['alerts']}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/alerts', { params: { query: { cursor, limit: 50 } }, signal }))
        }
        empty="No alert exists yet."
      />
      {edited !== null && (
        <AlertDialog
          alert={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          saved={() => void queries.invalidateQueries({ queryKey: ['alerts'] })}
        />
      )}
    </Page>
  );
}

function recipientOf({ to, url }: Alert): string {
  return to?.join(', ') ?? url ?? '';
}

function conditionsOf({ conditions }: Alert): string {
  return conditions.length === CONDITION_OPTIONS.length ? 'All' : conditions.map(conditionText).join(', ');
}

async function sendTest({ name }: Alert): Promise<void> {
  try {
    await api.POST('/admin/alerts/{name}/test', { params: { path: { name } } });
    toast('The test message was delivered.');
  } catch (error) {
    const detail = error instanceof ProblemError ? error.problem.detail : undefined;
    toast(detail ?? (error as Error).message, 'bad');
  }
}

async function remove({ name }: Alert): Promise<void> {
  const done = await confirm({
    title: `Delete ${name}?`,
    text: <p>This alert will send no more messages. Messages that have not been sent yet will be deleted.</p>,
    action: 'Delete',
    danger: true,
    perform: () => api.DELETE('/admin/alerts/{name}', { params: { path: { name } } }),
  });
  if (done) toast('Deleted.');
}
