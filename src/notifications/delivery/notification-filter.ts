import type { NotifiedChange } from '../notified-change.js';
import { acrossAccounts, type AcrossAccounts } from '../../platform/database/database.js';
import type { FailureClass } from '../partner/partner-connection.js';
import type { Retry } from './notification.entity.js';

/** The filter value that selects notifications without a failure class or without a failure reason. */
export const NONE = 'none';

/** The conditions of a filter on notifications; all of them must match. */
export interface NotificationConditions {
  /** The accounts of the caller; omitted for an operator with access to all accounts. */
  account_codes?: readonly string[];
  /** The subscriptions of the caller, if the caller is a partner. */
  subscription_ids?: readonly string[];
  /** The ids of the requested notifications. */
  ids?: readonly string[] | null;
  account_code?: string | null;
  subscription_id?: string | null;
  change_reason?: NotifiedChange | null;
  failure?: FailureClass | typeof NONE | null;
  reason?: string | null;
  http_status?: number | string | null;
  retry?: Retry | null;
  from?: string | null;
  to?: string | null;
  booking_code?: string | null;
  candidate_id?: string | null;
}

/**
 * Returns the reason why a query with this filter may read all accounts; undefined if it may not. A filter without
 * account conditions comes from an operator (filter-bounds.ts).
 */
export function acrossOf({ account_codes, account_code }: NotificationConditions): AcrossAccounts | undefined {
  return account_codes === undefined && account_code == null ? acrossAccounts.operators : undefined;
}

/** Returns the SQL conditions of a filter on `notifications n`, and appends their values to `values`. */
export function conditionsOf(filter: NotificationConditions, values: unknown[]): string[] {
  const conditions: string[] = [];
  const add = (condition: string, value: unknown) => {
    if (value == null) return;
    values.push(value);
    conditions.push(`(${condition} $${values.length})`);
  };
  if (filter.account_codes !== undefined) {
    values.push(filter.account_codes);
    conditions.push(`n.account_code = ANY ($${values.length}::text[])`);
  }
  const among = (column: string, ids: readonly string[] | null | undefined) => {
    if (ids == null) return;
    values.push(ids);
    conditions.push(`${column} = ANY ($${values.length}::uuid[])`);
  };
  among('n.subscription_id', filter.subscription_ids);
  among('n.id', filter.ids);
  add('n.account_code =', filter.account_code);
  add('n.subscription_id =', filter.subscription_id);
  add('n.change_reason =', filter.change_reason);
  // A notification without a failure has not been attempted yet, or not since it was put back into the queue.
  if (filter.failure === NONE) conditions.push(`(n.failure IS NULL AND n.state <> 'DELIVERED')`);
  else add('n.failure =', filter.failure);
  if (filter.reason === NONE) conditions.push('n.failure_reason IS NULL');
  else add('n.failure_reason =', filter.reason);
  const status = filter.http_status == null ? null : Number(filter.http_status);
  // A delivered notification was answered with 200, but its status column is null (notification.entity.ts).
  add(status === 200 ? `n.state = 'DELIVERED' OR n.http_status =` : 'n.http_status =', status);
  add('n.retry =', filter.retry);
  add('n.created_datetime >=', filter.from);
  add('n.created_datetime <', filter.to);
  add('n.booking_code =', filter.booking_code);
  add(`n.body::json->>'candidate_id' =`, filter.candidate_id);
  return conditions;
}
