// Allowed: what is locked is its own, the other table is only read.
export const LOCK = {
  text: `select 1 from bookings b join eligibilities e using (svc_eligiblity_id) where b.account_code = $1 for update of b`,
};
