import { Link } from '@tanstack/react-router';
import type { Schemas } from '../api/client';
import { Code } from '../components/code';
import { failureText } from '../components/failure-text';
import type { Column } from '../components/table';
import { Time } from '../components/time';
import { CandidateName } from './candidate-name';
import { ExamStart } from './exam-start';
import { PartnerLink } from './partner-link';
import { notifiedText, retryText } from './words';
import { partnerName } from '../partners/partner-name';

export const NOTIFICATION_COLUMNS: readonly Column<Schemas['NotificationModel']>[] = [
  {
    id: 'booking',
    header: 'Booking',
    kind: 'main',
    cell: ({ id, booking_code: booking, svc_eligiblity_id: record, event_sequence: number }) => (
      <>
        <Link to="/notifications/$id" params={{ id }}>
          <Code>{booking ?? record ?? id}</Code>
        </Link>
        <small>no. {number}</small>
      </>
    ),
    text: ({ booking_code: booking, svc_eligiblity_id: record }) => booking ?? record,
  },
  {
    id: 'event',
    header: 'Event',
    cell: ({ change_reason: reason }) => notifiedText(reason),
    text: ({ change_reason: reason }) => reason,
  },
  {
    id: 'partner',
    header: 'Partner',
    cell: (notification) => <PartnerLink id={notification.subscription_id}>{partnerName(notification)}</PartnerLink>,
    text: partnerName,
  },
  {
    id: 'candidate',
    header: 'Candidate',
    cell: ({ account_code: account, candidate_id: candidate, candidate_name: name }) => (
      <span>
        <Link to="/candidates/$account/$candidate" params={{ account, candidate }}>
          <Code>{candidate}</Code>
        </Link>
        <CandidateName name={name} />
      </span>
    ),
    text: ({ candidate_id: candidate }) => candidate,
  },
  {
    id: 'exam',
    header: 'Exam',
    cell: (notification) => <ExamStart of={notification} />,
    text: ({ booking_on: at }) => at,
  },
  { id: 'state', header: 'State', as: 'badge', text: ({ state }) => state },
  {
    id: 'failure',
    header: 'Failure',
    cell: ({ state, failure, http_status: status }) =>
      failure == null && state !== 'ERROR_QUEUE' ? (
        <span className="nothing">–</span>
      ) : (
        <span>
          {failureText(failure)}
          {status != null && <small>HTTP {status}</small>}
        </span>
      ),
    text: ({ failure, http_status: status }) => [failure, status].filter(Boolean).join(' '),
  },
  {
    id: 'retry',
    header: 'Next attempt',
    cell: ({ retry, next_attempt_at: next }) => (
      <span>
        {retryText(retry)}
        {next && (
          <small>
            <Time at={next} compact />
          </small>
        )}
      </span>
    ),
    text: ({ retry }) => retry,
  },
  {
    id: 'created',
    header: 'Created',
    cell: ({ created_datetime: at }) => <Time at={at} compact />,
    text: ({ created_datetime: at }) => at,
  },
  {
    id: 'delivered',
    header: 'Delivered',
    hidden: true,
    as: 'time',
    text: ({ delivered_datetime: at }) => at,
  },
  {
    id: 'account',
    header: 'Account',
    hidden: true,
    as: 'account',
    text: ({ account_code: code }) => code,
  },
  { id: 'id', header: 'webhook-id', hidden: true, as: 'id', text: ({ id }) => id },
];
