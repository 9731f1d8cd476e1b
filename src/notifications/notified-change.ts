import { CHANGE_REASONS, type ChangeReason } from '../bookings/bookings.events.js';
import { RECORD_CHANGES, type RecordChangeName } from '../platform/changes/change.entity.js';

/**
 * The changes about which partners can be notified: changes to bookings and to eligibility records (`record_changes`).
 */
export const NOTIFIED_CHANGES = [...CHANGE_REASONS, ...RECORD_CHANGES] as const;
export type NotifiedChange = ChangeReason | RecordChangeName;
