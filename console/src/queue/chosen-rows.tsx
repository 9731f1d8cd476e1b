import { useQueryClient } from '@tanstack/react-query';
import { api, newIdempotencyKey } from '../api/client';
import { Chosen, type ChosenAction } from '../components/chosen';

const REFUSAL = 'they had already left the error queue or the service refused the request';

const ACTIONS: readonly ChosenAction[] = [
  {
    verb: 'Resend',
    past: 'resent',
    primary: true,
    reason: 'optional',
    text: 'Each notification will be sent immediately, even if its partner is down.',
    refusal: REFUSAL,
    perform: (id, reason) =>
      api.POST('/admin/error-queue/{notification_id}/resend', {
        params: paramsOf(id),
        body: reason ? { reason } : {},
      }),
  },
  {
    verb: 'Resolve',
    past: 'resolved',
    reason: 'required',
    text: 'Resolve notifications if their events were handled in another way. The notifications will be kept, but never sent again.',
    refusal: REFUSAL,
    perform: (id, reason) =>
      api.POST('/admin/error-queue/{notification_id}/resolve', { params: paramsOf(id), body: { reason } }),
  },
];

function paramsOf(notification_id: string) {
  return { path: { notification_id }, header: { 'Idempotency-Key': newIdempotencyKey() } };
}

/** Shows the actions on the notifications that the user has selected in the error queue. */
export function ChosenRows({ ids, clear }: { ids: readonly string[]; clear: () => void }) {
  const queries = useQueryClient();
  return (
    <Chosen
      ids={ids}
      nouns={['notification', 'notifications']}
      actions={ACTIONS}
      clear={clear}
      done={() => void queries.invalidateQueries({ queryKey: ['error-queue'] })}
    />
  );
}
