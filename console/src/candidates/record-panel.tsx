import { useState } from 'react';
import { api, newIdempotencyKey } from '../api/client';
import { useScopes } from '../api/session';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { Code } from '../components/code';
import { confirm } from '../components/confirm';
import { Copyable } from '../components/copy';
import { Facts } from '../components/page';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { Accommodations } from './accommodations';
import { BookedTime } from './booked-time';
import { BookingDialog } from './booking-dialog';
import { BY_CLIENTS, type Action, type CandidateRecord } from './record-text';
import { ResultState } from './result-state';
import { StateDiagram } from './state-diagram';
import { useDecided } from './use-decided';
import { VouchersDialog } from './vouchers-dialog';

const OR = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Shows one eligibility record with its state and the actions that are allowed on the record. */
export function RecordPanel({ record }: { record: CandidateRecord }) {
  const {
    status,
    hold_reason: held,
    approval_pending: waits,
    decline_reason: declined,
    test_code: test,
    eligibility_status_message: said,
  } = record;
  return (
    <article className="panel record" aria-label={`${test} ${record.svc_eligiblity_id}`}>
      <header className="line">
        <h3>{test}</h3>
        <Badge state={status} />
        {held != null && <Badge state="HELD">On hold</Badge>}
        {waits && declined === null && <Badge state="WAITING">Waiting for approval</Badge>}
        {declined !== null && <Badge state="DECLINED">Accommodations declined</Badge>}
      </header>
      {said && <p>{said}</p>}
      {held != null && <p className="note warn">Held: {held}</p>}
      <StateDiagram status={status} />
      <Facts
        of={[
          ['Portions', record.portion_codes.join(', ')],
          ['Scheduling from', <Time at={record.schedule_start_date} />],
          ['Scheduling until', <Time at={record.eligibility_end_date} />],
          ['Open booking', record.booking_code && <Copyable text={record.booking_code} />],
          ['Exam', <BookedTime record={record} />],
          ['Vouchers', record.voucher_codes.join(', ') || null],
          ['Client eligibility id', record.client_eligibility_id && <Code>{record.client_eligibility_id}</Code>],
          ['Changed', <Time at={record.updated_datetime} />],
          ['Id', <Copyable text={record.svc_eligiblity_id} />],
        ]}
      />
      <RecordActions record={record} />
      <ResultState record={record} />
    </article>
  );
}

function RecordActions({ record }: { record: CandidateRecord }) {
  const [open, setOpen] = useState<'BOOK' | 'MOVE_BOOKING' | 'SET_VOUCHERS' | null>(null);
  const scopes = useScopes();
  const decided = useDecided();
  const { account_code: account, test_code: test, svc_eligiblity_id: id, booking_code: booking } = record;
  const byId = { path: { svc_id: id } };
  const ofBooking = {
    path: { account_code: account, booking_code: booking ?? '' },
    header: { 'Idempotency-Key': newIdempotencyKey() },
  };

  async function settled(text: string) {
    setOpen(null);
    toast(text);
    await decided();
  }

  async function ask(question: Parameters<typeof confirm>[0], done: string) {
    if (await confirm(question)) await settled(done);
  }

  const absence = (excused: boolean) =>
    ask(
      {
        title: excused ? 'Excuse the absence?' : 'Record the candidate’s absence?',
        text: excused
          ? 'The booking will be closed, and the partners will be notified. A new exam can then be booked until the scheduling window ends.'
          : 'The booking and the record will be closed, and the partners will be notified.',
        action: excused ? 'Excuse' : 'Record the absence',
        perform: () =>
          api.POST('/accounts/{account_code}/bookings/{booking_code}/absence', {
            params: ofBooking,
            body: { excused },
          }),
      },
      excused ? 'The absence was excused.' : 'The absence was recorded.',
    );

  /**
   * The actions on a record in display order. An action has a `scope` if its route requires a scope that the page does
   * not require.
   */
  const OFFERED: readonly { action: Action; label: string; scope?: string; press: () => unknown }[] = [
    {
      action: 'APPROVE',
      label: 'Approve the accommodations …',
      press: () =>
        ask(
          {
            title: 'Approve the special accommodations?',
            text: <Accommodations of={record} />,
            action: 'Approve',
            perform: () => api.POST('/admin/eligibilities/{svc_id}/approve-accommodations', { params: byId }),
          },
          'The accommodations were approved.',
        ),
    },
    {
      action: 'DECLINE',
      label: 'Decline the accommodations …',
      press: () =>
        ask(
          {
            title: 'Decline the special accommodations?',
            text: (
              <>
                <Accommodations of={record} />. The record will stay pending, and its status message will state the
                reason. You can still approve the accommodations later.
              </>
            ),
            action: 'Decline',
            danger: true,
            reason: 'required',
            perform: (reason) =>
              api.POST('/admin/eligibilities/{svc_id}/decline-accommodations', { params: byId, body: { reason } }),
          },
          'The accommodations were declined.',
        ),
    },
    {
      action: 'RELEASE',
      label: 'Release the hold …',
      press: () =>
        ask(
          {
            title: 'Release the hold?',
            text: `Reason for the hold: ${record.hold_reason}`,
            action: 'Release',
            perform: () => api.POST('/admin/eligibilities/{svc_id}/release', { params: byId }),
          },
          'The hold was released.',
        ),
    },
    {
      action: 'HOLD',
      label: 'Hold …',
      press: () =>
        ask(
          {
            title: 'Hold this record?',
            text: 'No exam can be booked for this record until an operator releases the hold.',
            action: 'Hold',
            reason: 'required',
            perform: (reason) => api.POST('/admin/eligibilities/{svc_id}/hold', { params: byId, body: { reason } }),
          },
          'The record was held.',
        ),
    },
    { action: 'BOOK', label: 'Book …', scope: 'bookings', press: () => setOpen('BOOK') },
    { action: 'MOVE_BOOKING', label: 'Move the booking …', scope: 'bookings', press: () => setOpen('MOVE_BOOKING') },
    {
      action: 'CANCEL_BOOKING',
      label: 'Cancel the booking …',
      scope: 'bookings',
      press: () =>
        ask(
          {
            title: `Cancel booking ${booking}?`,
            text: 'The partners will be notified. A new exam can then be booked until the scheduling window ends.',
            action: 'Cancel the booking',
            danger: true,
            perform: () => api.DELETE('/accounts/{account_code}/bookings/{booking_code}', { params: ofBooking }),
          },
          'The booking was cancelled.',
        ),
    },
    { action: 'EXCUSED_ABSENCE', label: 'Excuse the absence …', scope: 'bookings', press: () => absence(true) },
    { action: 'ABSENCE', label: 'Record an absence …', scope: 'bookings', press: () => absence(false) },
    { action: 'SET_VOUCHERS', label: 'Vouchers …', scope: 'update', press: () => setOpen('SET_VOUCHERS') },
    {
      action: 'CANCEL',
      label: 'Cancel the record …',
      scope: 'delete',
      press: () =>
        ask(
          {
            title: `Cancel the record for ${test}?`,
            text: 'The candidate will no longer be able to use this record to take the test, and the record’s vouchers will be released. You cannot undo the cancellation, but you can create a new record.',
            action: 'Cancel the record',
            danger: true,
            perform: () =>
              api.DELETE('/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}', {
                params: {
                  path: { account_code: account, candidate_id: record.candidate.candidate_id, test_code: test },
                },
              }),
          },
          'The record was cancelled.',
        ),
    },
  ];

  const offered = OFFERED.filter(
    ({ action, scope }) => record.allows.includes(action) && (scope === undefined || scopes.includes(scope)),
  );
  const byClients = record.allows.flatMap((action) => BY_CLIENTS[action] ?? []);
  return (
    <>
      <div className="actions">
        {offered.map(({ action, label, press }) => (
          <Button
            key={action}
            kind={['CANCEL', 'CANCEL_BOOKING'].includes(action) ? 'danger' : 'plain'}
            onPress={() => void press()}
          >
            {label}
          </Button>
        ))}
      </div>
      {byClients.length > 0 && (
        <p className="hint">{`Clients and test drivers can also use the API to ${OR.format(byClients)}.`}</p>
      )}
      {(open === 'BOOK' || open === 'MOVE_BOOKING') && (
        <BookingDialog
          record={record}
          move={open === 'MOVE_BOOKING'}
          onClose={() => setOpen(null)}
          done={() => void settled(open === 'BOOK' ? 'The booking was created.' : 'The booking was moved.')}
        />
      )}
      {open === 'SET_VOUCHERS' && (
        <VouchersDialog
          record={record}
          onClose={() => setOpen(null)}
          done={() => void settled('The vouchers were saved.')}
        />
      )}
    </>
  );
}
