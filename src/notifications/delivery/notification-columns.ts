import { RECORD_CHANGES } from '../../platform/changes/change.entity.js';

const IS_OF_RECORD = `n.change_reason = ANY ('{${RECORD_CHANGES.join(',')}}')`;

/**
 * SQL: the columns for the booking or the record that a notification `n` is about. The column that does not apply is
 * null.
 */
export const ABOUT = `CASE WHEN NOT ${IS_OF_RECORD} THEN n.booking_code END AS booking_code,
  CASE WHEN ${IS_OF_RECORD} THEN n.booking_code END AS svc_eligiblity_id`;
