// This statement is allowed: the module bookings may use the module eligibility, whose table this statement only reads.
export const FIND = prepared('find', `SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1`, 'keyInHand');
