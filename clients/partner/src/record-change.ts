import { MalformedNotification } from './notification-request.js';

/**
 * A change to an eligibility record, in the same form as in the change feed. A subscription selects these changes with
 * `record_changes`.
 */
export interface RecordChange {
  id: string;
  /** The kind of change, such as `CREATED` or `RESULT_REVISED`. */
  change: string;
  /** The time of the change, `YYYY-MM-DDThh:mm:ssZ`. */
  at: string;
  svc_eligiblity_id: string;
  candidate_id: string;
  test_code: string;
}

/** Returns whether a body is a change to a record instead of a NotificationRequest. */
export function isRecordChange(value: object): value is RecordChange {
  return 'svc_eligiblity_id' in value;
}

/**
 * Parses a change to a record from a JSON object. Unknown members are kept.
 * @throws MalformedNotification
 */
export function parseRecordChange(value: object): RecordChange {
  const members = value as Record<string, unknown>;
  for (const name of ['change', 'svc_eligiblity_id'])
    if (typeof members[name] !== 'string' || members[name] === '')
      throw new MalformedNotification(`${name} is missing or malformed.`);
  if (typeof members['at'] !== 'string' || Number.isNaN(Date.parse(members['at'])))
    throw new MalformedNotification('at is missing or malformed.');
  return value as RecordChange;
}
