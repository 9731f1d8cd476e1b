export const LOCK = prepared(
  'lock',
  `SELECT 1 FROM eligibilities WHERE svc_eligiblity_id = $1 FOR UPDATE`,
  'keyInHand',
);
