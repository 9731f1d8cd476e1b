import { api } from '../api/client';
import { Button } from '../components/button';
import type { ChosenAction } from '../components/chosen';
import { confirm } from '../components/confirm';
import { toast } from '../components/toast';
import { Accommodations } from '../candidates/accommodations';
import { useDecided } from '../candidates/use-decided';
import { nameOf, type CandidateRecord } from '../candidates/record-text';

const approve = (svc_id: string) =>
  api.POST('/admin/eligibilities/{svc_id}/approve-accommodations', { params: { path: { svc_id } } });
const decline = (svc_id: string, reason: string) =>
  api.POST('/admin/eligibilities/{svc_id}/decline-accommodations', { params: { path: { svc_id } }, body: { reason } });
const release = (svc_id: string) => api.POST('/admin/eligibilities/{svc_id}/release', { params: { path: { svc_id } } });

const DECLINED =
  'The record will stay pending, and its status message will state the reason. You can still approve the accommodations later on the candidate’s page.';

/** Shows the buttons that approve or decline the accommodations in an eligibility record. */
export function Decide({ record }: { record: CandidateRecord }) {
  const decided = useDecided();
  const { svc_eligiblity_id: id, candidate, test_code: test, hold_reason: held } = record;
  const name = nameOf(candidate);
  const asked = (
    <>
      <Accommodations of={record} /> for the test {test}.
    </>
  );
  async function ask(question: Parameters<typeof confirm>[0], done: string) {
    if (!(await confirm(question))) return;
    toast(done);
    void decided();
  }
  const askToApprove = () =>
    ask(
      {
        title: `Approve the accommodations for ${name}?`,
        name,
        text: (
          <p>
            {asked}{' '}
            {held === null
              ? 'The record will become eligible. An exam can then be booked within the scheduling window.'
              : 'The accommodations will be approved, but the record will stay on hold.'}
          </p>
        ),
        action: 'Approve',
        perform: () => approve(id),
      },
      'The accommodations were approved.',
    );
  const askToDecline = () =>
    ask(
      {
        title: `Decline the accommodations for ${name}?`,
        name,
        text: (
          <p>
            {asked} {DECLINED}
          </p>
        ),
        action: 'Decline',
        danger: true,
        reason: 'required',
        perform: (reason) => decline(id, reason),
      },
      'The accommodations were declined.',
    );
  return (
    <span className="actions">
      <Button small onPress={() => void askToApprove()} aria-label={`Approve the accommodations for ${name}`}>
        Approve …
      </Button>
      <Button small onPress={() => void askToDecline()} aria-label={`Decline the accommodations for ${name}`}>
        Decline …
      </Button>
    </span>
  );
}

/** Shows the button that releases an eligibility record from its hold. */
export function Release({ record }: { record: CandidateRecord }) {
  const decided = useDecided();
  const { svc_eligiblity_id: svc_id, hold_reason: reason } = record;
  async function ask() {
    const done = await confirm({
      title: `Release the hold for ${nameOf(record.candidate)}?`,
      name: nameOf(record.candidate),
      text: (
        <p>
          Reason for the hold: {reason}.{' '}
          {record.approval_pending
            ? 'The hold will be released, but the record will still be waiting for approval.'
            : 'If no exam is booked yet, the record will become eligible, and an exam can be booked within the scheduling window.'}
        </p>
      ),
      action: 'Release',
      perform: () => release(svc_id),
    });
    if (!done) return;
    toast('The hold was released.');
    void decided();
  }
  return (
    <Button small onPress={() => void ask()} aria-label={`Release the hold for ${nameOf(record.candidate)}`}>
      Release …
    </Button>
  );
}

const REFUSAL = 'another operator had already decided, or the service refused the request';
export const APPROVAL_ACTIONS: readonly ChosenAction[] = [
  {
    verb: 'Approve',
    past: 'approved',
    primary: true,
    text: 'The accommodations of each record will be approved. Records that are not on hold will become eligible.',
    refusal: REFUSAL,
    perform: approve,
  },
  {
    verb: 'Decline',
    past: 'declined',
    danger: true,
    reason: 'required',
    text: DECLINED,
    refusal: REFUSAL,
    perform: decline,
  },
];
export const HOLD_ACTIONS: readonly ChosenAction[] = [
  {
    verb: 'Release',
    past: 'released',
    primary: true,
    text: 'The hold on each record will be released. A record will become eligible if it has no booking and is not waiting for approval.',
    refusal: REFUSAL,
    perform: release,
  },
];
