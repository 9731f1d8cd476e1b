// Allowed: bookings may use eligibility, whose table this statement only reads.
export const FIND = prepared('find', `SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1`, 'keyInHand');
