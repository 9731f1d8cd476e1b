import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useAccountOptions } from '../components/account-options';
import { api, dataOf, newIdempotencyKey } from '../api/client';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { TextField } from '../components/fields';
import { Isolated } from '../components/isolated';
import { ProblemNote, Shown } from '../components/states';
import { Time } from '../components/time';
import { notifiedText } from '../notification/words';
import { usePartnerOptions } from '../partners/partner-filter';
import { filterTexts, type QueueFilter } from './filter-text';

export type BulkKind = 'resend' | 'resolve' | 'replay';

interface Started {
  job_id?: string | null;
  matched: number | null;
  matched_at_least?: number | null;
}

const WORDS: Record<BulkKind, { title: string; action: string; text: string }> = {
  resend: {
    title: 'Resend these notifications?',
    action: 'Resend',
    text: 'The job will send the notifications, oldest first. Each partner will first receive one notification. The other notifications will follow after the partner has accepted the first one. You can pause or abort the job.',
  },
  resolve: {
    title: 'Resolve these notifications?',
    action: 'Resolve',
    text: 'Resolve notifications if their events were handled in another way. The notifications will leave the error queue. They will be kept, but never sent again.',
  },
  replay: {
    title: 'Replay delivered notifications?',
    action: 'Replay',
    text: 'The partner will receive the same notifications again, with the same ids. The notifications for each booking will be sent in order.',
  },
};

interface Props {
  kind: BulkKind;
  /**
   * The filter that selects the notifications. For a replay, it must contain `subscription_id`, and may also contain a
   * period, a booking and an event.
   */
  filter: QueueFilter;
  onClose: () => void;
}

/**
 * Shows the number of notifications that match a filter, and the first few of them. When the operator has given a
 * reason, the dialog starts a job for all these notifications.
 */
export function BulkDialog({ kind, filter, onClose }: Props) {
  const { title, action, text } = WORDS[kind];
  const [reason, setReason] = useState('');
  const [missing, setMissing] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // Every request that starts the job uses the same Idempotency-Key, so that a double click creates only one job.
  const [key] = useState(newIdempotencyKey);
  const navigate = useNavigate();
  const counted = useQuery({
    queryKey: ['bulk', kind, filter],
    queryFn: async () => {
      const [count, first] = await Promise.all([
        start(kind, filter, 'Counting', true),
        firstOf(kind, filter).catch(() => []),
      ]);
      return { count, first };
    },
    gcTime: 0,
    staleTime: Infinity,
  });

  async function submit(event: FormEvent) {
    event.preventDefault();
    setMissing(reason.trim() === '');
    if (reason.trim() === '' || busy) return;
    setBusy(true);
    try {
      const { job_id: jobId } = await start(kind, filter, reason.trim(), false, key);
      onClose();
      if (jobId) await navigate({ to: '/jobs/$jobId', params: { jobId } });
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <Shown query={counted}>
          {({ count, first }) => {
            const number = count.matched ?? count.matched_at_least ?? 0;
            const shown = `${count.matched === null ? 'at least ' : ''}${number.toLocaleString('en')}`;
            return (
              <>
                <p role="status">
                  <strong>{shown}</strong> {number === 1 ? 'notification matches' : 'notifications match'} now.{' '}
                  {number > 0 && text}
                </p>
                <Chosen filter={filter} />
                {number > 0 && (
                  <>
                    <ol className="preview" aria-label="The first matching notifications" hidden={first.length === 0}>
                      {first.map(
                        ({
                          id,
                          booking_code: booking,
                          svc_eligiblity_id: record,
                          change_reason: event,
                          created_datetime: at,
                        }) => (
                          <li key={id}>
                            <strong>{booking ?? record}</strong> {notifiedText(event)} <Time at={at} compact />
                          </li>
                        ),
                      )}
                      {number > first.length && <li>… and {(number - first.length).toLocaleString('en')} more</li>}
                    </ol>
                    <TextField
                      label="Reason"
                      hint="The reason will be saved with the job."
                      value={reason}
                      onChange={setReason}
                      rows={2}
                      maxLength={1000}
                      required
                      autoFocus
                      fault={missing && reason.trim() === '' ? 'Required.' : undefined}
                    />
                  </>
                )}
                {error !== null && <ProblemNote error={error} />}
                <div className="actions end">
                  <Button onPress={onClose}>{number > 0 ? 'Cancel' : 'Close'}</Button>
                  {number > 0 && (
                    <Button type="submit" kind="primary" isPending={busy}>
                      {action} {shown}
                    </Button>
                  )}
                </div>
              </>
            );
          }}
        </Shown>
      </form>
    </Dialog>
  );
}

function Chosen({ filter }: { filter: QueueFilter }) {
  const names = new Map([...useAccountOptions(), ...usePartnerOptions()]);
  const { account_code: account, subscription_id: partner } = filter;
  const texts = filterTexts({
    ...filter,
    account_code: account && (names.get(account) ?? account),
    subscription_id: partner && (names.get(partner) ?? partner),
  });
  return (
    <p className="hint">
      {texts.length === 0 ? (
        'No filter is set, so the job will cover the whole error queue.'
      ) : (
        <Isolated of={texts.map(([name, value]) => `${name}: ${value}`)} />
      )}
    </p>
  );
}

function start(kind: BulkKind, filter: QueueFilter, reason: string, dry: boolean, key?: string): Promise<Started> {
  const params = { header: key === undefined ? {} : { 'Idempotency-Key': key } };
  if (kind === 'replay') {
    const { subscription_id, from, to, booking_code, change_reason } = filter;
    const body = {
      subscription_id: subscription_id!,
      filter: { from, to, booking_code, change_reason },
      reason,
      dry_run: dry,
    };
    return dataOf(api.POST('/admin/notifications/replay', { params, body }));
  }
  const body = { filter, reason, dry_run: dry };
  return kind === 'resend'
    ? dataOf(api.POST('/admin/error-queue/resend', { params, body }))
    : dataOf(api.POST('/admin/error-queue/resolve', { params, body }));
}

/** The query parameters for the first notifications, in the order in which a job processes them. */
const FIRST = { order: 'oldest', limit: 5 } as const;

/**
 * Returns the notifications that the job processes first. For a replay that begins at a given time, returns no
 * notifications. To find the first ones, the service would have to read all earlier notifications, which may be
 * millions.
 */
function firstOf(kind: BulkKind, filter: QueueFilter) {
  if (kind === 'replay') {
    const { subscription_id, from, to, booking_code, change_reason } = filter;
    if (from) return Promise.resolve([]);
    const query = { subscription_id, to, booking_code, change_reason, state: 'DELIVERED', ...FIRST } as const;
    return dataOf(api.GET('/admin/notifications', { params: { query: defined(query) } }));
  }
  return dataOf(api.GET('/admin/error-queue', { params: { query: { ...defined(filter), ...FIRST } } }));
}

/** Removes the null members of a filter, because a query string cannot contain null. */
function defined<T extends object>(filter: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value != null)) as {
    [K in keyof T]: NonNullable<T[K]>;
  };
}
