// The SQL statement in this file is allowed: the bookings module locks only its own table, and only reads the table of
// the eligibility module.
export const LOCK = {
  text: `select 1 from bookings b join eligibilities e using (svc_eligiblity_id) where b.account_code = $1 for update of b`,
};
