import type { OperationValues, SandboxClient } from './sandbox-client.js';

interface Objects {
  /**
   * The ids of the subscriptions that are assigned to the sandbox's operator. The first subscription has no
   * notifications.
   */
  subscriptions: string[];
  /** The id of a failed notification. */
  resent: string;
  /** The ids of failed notifications to a suspended partner. */
  waiting: string[];
}

/**
 * Assigns subscriptions to the sandbox's operator, and returns the values with which the examples of partners' routes
 * work. Also creates replay jobs for these examples; the jobs stay unfinished, because their partner is suspended.
 */
export async function partnerExamples(client: SandboxClient, objects: Objects): Promise<OperationValues> {
  const { subscriptions, resent, waiting } = objects;
  await client.call('PUT', '/admin/users/sandbox-operator', { subscription_ids: subscriptions });
  const replay = async (id: string) => {
    const started = await client.call<{ job_id: string }>('POST', '/partner/notifications/replay', { ids: [id] });
    return { job_id: started.job_id };
  };
  const subscription = { id: subscriptions[0] };
  const notification = { id: resent };
  const job = await replay(waiting[3]);
  return {
    'GET /partner/subscriptions/{id}': subscription,
    'POST /partner/subscriptions/{id}/verify': subscription,
    'POST /partner/subscriptions/{id}/rotate-secret': subscription,
    'POST /partner/subscriptions/{id}/suspend': subscription,
    'POST /partner/subscriptions/{id}/resume': subscription,
    'GET /partner/digest': { subscription_id: subscriptions[0] },
    'GET /partner/notifications/{id}': notification,
    'POST /partner/notifications/{id}/resend': notification,
    'GET /partner/jobs/{job_id}': job,
    'POST /partner/jobs/{job_id}/pause': job,
    'POST /partner/jobs/{job_id}/resume': job,
    'POST /partner/jobs/{job_id}/abort': await replay(waiting[4]),
  };
}
