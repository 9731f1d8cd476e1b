// The SQL statement in this file is allowed: the module bookings may use the module eligibility, and only reads its
// table.
export const FIND = prepared('find', `SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1`, 'keyInHand');
