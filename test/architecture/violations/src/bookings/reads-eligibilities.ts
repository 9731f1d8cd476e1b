// Allowed: bookings may use eligibility, and only reads.
export const FIND = prepared('find', `SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1`, 'keyInHand');
