// Each SQL statement in this file violates the rule whose name is above the statement.

// bounds-the-account
export const LIST = prepared('a list without a bound', 'select * from eligibilities order by position desc limit $1');
export const OTHERS = prepared('a bound of another column', 'select * from eligibilities where candidate_id = $1');
export const COUNT = prepared('a count', 'SELECT count(*) FROM eligibilities WHERE status = $1');
export const EXISTS = prepared('an EXISTS', 'SELECT EXISTS (SELECT FROM eligibilities WHERE candidate_id = $1)');
export const SCALAR = prepared(
  'a subquery among the columns',
  'select (select max(position) from eligibilities) from accounts where account_code = $1',
);
export const IN_CTE = prepared(
  'a CTE',
  'with newest as (select * from eligibilities limit 1) select * from newest where account_code = $1 is null',
);
export const WRITING_CTE = prepared(
  'a CTE that writes',
  `with gone as (delete from eligibilities where status = 'CANCELLED' returning 1) select count(*) from gone`,
);
export const LATERAL = prepared(
  'a LATERAL join by what is no key',
  `SELECT 1 FROM eligibilities e CROSS JOIN LATERAL (SELECT FROM bookings b WHERE b.candidate_id = e.candidate_id) b
   WHERE e.account_code = $1`,
);
export const UPDATE_FROM = prepared(
  'an UPDATE FROM by what is no key',
  `UPDATE eligibilities e SET status = 'CANCELLED' FROM bookings b WHERE b.account_code = $1 AND b.test_code = e.test_code`,
);
export const DELETE_USING = prepared(
  'a DELETE USING with the other table bound',
  'DELETE FROM bookings USING eligibilities e WHERE e.account_code = $1',
);
export const OR = prepared('a bound that is ORed away', 'SELECT 1 FROM eligibilities WHERE account_code = $1 OR $2');
export const OR_STATUS = prepared(
  'a bound in one branch of an OR',
  `SELECT 1 FROM eligibilities WHERE (account_code = $1 AND status = 'PENDING') OR status = 'ELIGIBLE'`,
);
export const OTHER_NULL = prepared(
  'a bound that falls with another parameter',
  'SELECT 1 FROM eligibilities WHERE $2::text IS NULL OR account_code = $1',
);
export const NOT = prepared('a bound that is negated', 'SELECT 1 FROM eligibilities WHERE NOT account_code = $1');
export const UNLIKE = prepared('every account but one', 'SELECT 1 FROM eligibilities WHERE account_code <> $1');
export const ALL = prepared('an ALL', 'SELECT 1 FROM eligibilities WHERE account_code <> ALL ($1)');
export const ITSELF = prepared(
  'a bound by itself',
  'SELECT 1 FROM eligibilities WHERE account_code = coalesce($1, account_code)',
);
export const EACH_OTHER = prepared(
  'two tables that bound each other alone',
  'SELECT 1 FROM eligibilities JOIN bookings USING (account_code, svc_eligiblity_id)',
);
export const OUTER = prepared(
  'an outer join whose condition bounds',
  'SELECT 1 FROM eligibilities e LEFT JOIN accounts a ON e.account_code = $1 AND a.account_code = $1',
);
export const FILTER = prepared(
  'a bound of the figures alone',
  'SELECT count(*) FILTER (WHERE account_code = $1) FROM eligibilities',
);
export const HAVING = prepared(
  'a bound of the groups alone',
  'SELECT account_code, count(*) FROM eligibilities GROUP BY 1 HAVING account_code = $1',
);
export const UNION = prepared(
  'one side of a UNION',
  'SELECT position FROM eligibilities WHERE account_code = $1 UNION ALL SELECT position FROM eligibilities',
);
export const KEY = prepared('a key without a reason', 'SELECT * FROM eligibilities WHERE svc_eligiblity_id = $1');
export const CONFLICT = prepared(
  'an upsert that conflicts on a key without the account',
  `INSERT INTO eligibilities (svc_eligiblity_id, account_code) VALUES ($1, $2)
   ON CONFLICT (svc_eligiblity_id) DO UPDATE SET status = 'PENDING'`,
);
export const LOCK = prepared('a lock of the table', 'LOCK TABLE eligibilities');

// gives-no-needless-reason
export const NEEDLESS = prepared('a needless reason', 'SELECT 1 FROM eligibilities WHERE account_code = $1', 'sweep');

// reads-by-key
export const NO_KEY = prepared(
  'a key that is none',
  'SELECT 1 FROM eligibilities WHERE candidate_id = $1',
  'keyInHand',
);
export const CHECKED_LIST = prepared('a checked list', 'SELECT account_code FROM eligibilities', 'checkedByCaller');

// answers-with-the-account
export const UNCHECKABLE = prepared(
  'an answer that nobody can check',
  'SELECT candidate_id FROM eligibilities WHERE svc_eligiblity_id = $1',
  'checkedByCaller',
);

// gives-reason-of-its-place
export const ELSEWHERE = prepared('the reason of another module', 'SELECT 1 FROM eligibilities LIMIT 1', 'rights');
