// The SQL statement in this file is allowed: the bookings module may import the eligibility module, and only reads that
// module's table.
export const FIND = prepared('find', `SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1`, 'keyInHand');
