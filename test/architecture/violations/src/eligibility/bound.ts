// No SQL statement in this file violates the rule that statements are limited to an account.
export const EQUAL = prepared(
  'an account',
  'select * from eligibilities where account_code = $1 and candidate_id = $2',
);
export const ANY = prepared('accounts', 'SELECT 1 FROM eligibilities WHERE account_code = ANY ((SELECT $1::text[]))');
export const NULL = prepared(
  'accounts, or null for all',
  'SELECT 1 FROM eligibilities WHERE ($1::text[] IS NULL OR account_code = ANY ($1)) AND status = $2',
);
export const OVERLAP = prepared('lists', 'SELECT 1 FROM unmatched_results WHERE staff_account_codes && $1::text[]');
export const BATCH = prepared(
  'a batch',
  `SELECT asked.n, e.status FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (account, candidate, n)
   JOIN eligibilities e ON e.account_code = asked.account AND e.candidate_id = asked.candidate`,
);
export const FOREIGN_KEY = prepared(
  'a foreign key of a bound row',
  `SELECT b.status FROM eligibilities e LEFT JOIN bookings b USING (svc_eligiblity_id) WHERE e.account_code = $1`,
);
export const AMONG = prepared(
  'keys of bound rows',
  `DELETE FROM eligibilities WHERE svc_eligiblity_id IN (
     SELECT svc_eligiblity_id FROM eligibilities WHERE account_code = $1 LIMIT 10 FOR UPDATE SKIP LOCKED)`,
);
export const INSERTED = prepared(
  'an upsert on a key with the account',
  `INSERT INTO tests (account_code, test_code) VALUES ($1, $2)
   ON CONFLICT ON CONSTRAINT tests_pk DO UPDATE SET name = excluded.name`,
);
export const REASON = prepared('a reason', 'SELECT count(*) FROM eligibilities', 'figures');
