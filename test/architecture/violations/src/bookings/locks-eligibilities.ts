export const LOCK = `SELECT 1 FROM eligibilities WHERE svc_eligiblity_id = $1 FOR UPDATE`;
