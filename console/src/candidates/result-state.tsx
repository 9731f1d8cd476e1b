import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../api/client';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { toast } from '../components/toast';
import { candidateQueries } from './candidate-queries';
import type { CandidateRecord } from './record-text';

type Decision = 'hold' | 'release' | 'revoke';

const HIDDEN =
  'Clients without the “results” scope will be able to see that a result exists, but will not be able to read it. The record will stay completed.';
const DECISIONS: Record<Decision, { label: string; title: string; text: string; action: string; done: string }> = {
  hold: {
    label: 'Hold the result …',
    title: 'Hold the result?',
    text: `${HIDDEN} You can release the result later.`,
    action: 'Hold',
    done: 'The result was held.',
  },
  release: {
    label: 'Release the result …',
    title: 'Release the result?',
    text: 'All clients of the account will be able to read the result again.',
    action: 'Release',
    done: 'The result was released.',
  },
  revoke: {
    label: 'Revoke the result …',
    title: 'Revoke the result?',
    text: HIDDEN,
    action: 'Revoke',
    done: 'The result was revoked.',
  },
};
const ALLOWED: Record<string, readonly Decision[]> = {
  RELEASED: ['hold', 'revoke'],
  HELD: ['release', 'revoke'],
  REVOKED: ['release'],
};

/**
 * Shows the state of the exam's result, the reason for the state, and buttons for the decisions on the result. Shows
 * nothing if there is no result.
 */
export function ResultState({ record }: { record: CandidateRecord }) {
  const { account_code, svc_eligiblity_id: svc_id, candidate } = record;
  const queries = useQueryClient();
  const { data = [] } = useQuery(candidateQueries({ account_code, candidate_id: candidate.candidate_id }).results);
  const newest = data.find(({ svc_eligiblity_id: id }) => id === svc_id);
  if (newest === undefined) return null;
  const { state, state_reason: because } = newest;

  async function ask(decision: Decision) {
    const { title, text, action, done } = DECISIONS[decision];
    const params = { path: { svc_id } };
    const agreed = await confirm({
      title,
      text: <p>{text}</p>,
      action,
      danger: decision === 'revoke',
      reason: 'required',
      perform: (reason) => {
        const body = { reason };
        if (decision === 'hold') return api.POST('/admin/eligibilities/{svc_id}/result/hold', { params, body });
        if (decision === 'revoke') return api.POST('/admin/eligibilities/{svc_id}/result/revoke', { params, body });
        return api.POST('/admin/eligibilities/{svc_id}/result/release', { params, body });
      },
    });
    if (!agreed) return;
    toast(done);
    await queries.invalidateQueries({ queryKey: ['candidate', account_code, candidate.candidate_id] });
  }

  return (
    <div className="result-state" role="group" aria-label="Result">
      <p className="line">
        <strong>Result</strong> <Badge state={state} />
        {because !== null && <span>{because}</span>}
      </p>
      <div className="actions">
        {ALLOWED[state].map((decision) => (
          <Button key={decision} onPress={() => void ask(decision)}>
            {DECISIONS[decision].label}
          </Button>
        ))}
      </div>
    </div>
  );
}
