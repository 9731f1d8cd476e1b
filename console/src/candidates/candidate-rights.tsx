import { useNavigate } from '@tanstack/react-router';
import { api, dataOf } from '../api/client';
import { useScopes } from '../api/session';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { counted } from '../components/counted';
import { download } from '../components/list-csv';
import { toast } from '../components/toast';
import type { CandidateRecord } from './record-text';

interface Props {
  path: { account_code: string; candidate_id: string };
  name: string;
  records: readonly CandidateRecord[];
}

/** Shows buttons that export or erase the stored data of a candidate who exercises data-protection rights. */
export function CandidateRights({ path, name, records }: Props) {
  const scopes = useScopes();
  const navigate = useNavigate();
  if (!scopes.includes('admin')) return null;

  async function exportAll() {
    const whole = await dataOf(
      api.GET('/admin/accounts/{account_code}/candidates/{candidate_id}/export', { params: { path } }),
    );
    download(`candidate-${path.candidate_id}.json`, JSON.stringify(whole, null, 2), 'application/json');
  }

  async function askToExport() {
    const done = await confirm({
      title: 'Export all data about this candidate?',
      text: 'The export is a JSON file that contains the candidate’s records, bookings, results (with photos and video links), notifications and audit entries. The audit log will record the export.',
      action: 'Export',
      perform: exportAll,
    });
    if (done) toast('The export is ready.');
  }

  async function erase() {
    const count = (statuses: readonly string[]) => records.filter(({ status }) => statuses.includes(status)).length;
    const open = count(['SCHEDULED']);
    const cancelled = count(['PENDING', 'ELIGIBLE']);
    let jobId: string | null = null;
    const done = await confirm({
      title: `Erase the personal data of ${name}?`,
      name,
      text: (
        <>
          <p>
            Names, contact data, attributes, photos, links and personal data in results and notifications will be
            removed from {counted(records.length, 'record', 'records')}.
          </p>
          {cancelled > 0 && <p>{counted(cancelled, 'open record', 'open records')} will be cancelled.</p>}
          {open > 0 && (
            <p className="note warn">
              {counted(open, 'record is', 'records are')} booked. Cancel each open booking first.
            </p>
          )}
          <p>
            The states of the records, the scores and the delivery history will be kept under a pseudonym. The erasure
            cannot be undone.
          </p>
        </>
      ),
      action: 'Erase',
      danger: true,
      reason: 'required',
      typed: path.candidate_id,
      perform: async (reason) => {
        const answer = await dataOf(
          api.POST('/admin/accounts/{account_code}/candidates/{candidate_id}/erase', {
            params: { path },
            body: { reason },
          }),
        );
        jobId = answer.job_id;
      },
    });
    if (!done || jobId === null) return;
    toast('The erasure has started.');
    await navigate({ to: '/jobs/$jobId', params: { jobId } });
  }

  return (
    <>
      <Button onPress={() => void askToExport()}>Export …</Button>
      <Button kind="danger" onPress={() => void erase()}>
        Erase …
      </Button>
    </>
  );
}
