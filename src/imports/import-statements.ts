import { acrossAccounts, hasLapsed, MACHINE_TIME, prepared } from '../platform/database/database.js';

/** The duration of a worker's lease on an import's chunk, in seconds. A worker that needs longer loses the lease. */
const LEASE_S = 30;
const LEASE = `interval '${LEASE_S} seconds'`;
/**
 * The duration of the lease of the process that receives a body, in seconds. If rows stop arriving, that process gives
 * up much earlier.
 */
const RECEIVING_LEASE_S = 120;
export const RECEIVING_LEASE = `interval '${RECEIVING_LEASE_S} seconds'`;

export const ADD_CHUNK = prepared(
  'import-add-chunk',
  `WITH alive AS (
     UPDATE eligibility_imports SET leased_until = ${MACHINE_TIME} + ${RECEIVING_LEASE}, columns = $5
     WHERE import_id = $1 AND state = 'RECEIVING' RETURNING import_id)
   INSERT INTO eligibility_import_chunks (import_id, chunk, first_row, rows)
   SELECT import_id, $2::int, $3::int, $4::bytea FROM alive`,
  acrossAccounts.keyInHand,
);
export const CLOSE = prepared(
  'import-close',
  `UPDATE eligibility_imports
   SET rows = $2, columns = $4, leased_until = NULL, state = CASE WHEN $2::int = 0 THEN 'DONE' ELSE 'RUNNING' END,
     started_datetime = CASE WHEN $2::int = 0 THEN $3::timestamptz END,
     finished_datetime = CASE WHEN $2::int = 0 THEN $3::timestamptz END
   WHERE import_id = $1 AND state = 'RECEIVING'`,
  acrossAccounts.keyInHand,
);
export const STATE = prepared(
  'import-state',
  'SELECT state FROM eligibility_imports WHERE import_id = $1',
  acrossAccounts.keyInHand,
);
export const DISCARD = prepared(
  'import-discard',
  'DELETE FROM eligibility_imports WHERE import_id = $1',
  acrossAccounts.keyInHand,
);
// Selects the account that has waited longest. Of this account's imports, claims the import that has waited longest. An
// account keeps its place in the order of the accounts when an import ends, so that many small imports gain no
// advantage.
export const CLAIM = prepared(
  'import-claim',
  `WITH next AS (
     SELECT import_id, account_code
     FROM eligibility_imports waiting LEFT JOIN eligibility_import_turns turn USING (account_code)
     WHERE state = 'RUNNING' AND (leased_until IS NULL OR ${hasLapsed('leased_until', LEASE_S)})
     ORDER BY turn.served_datetime NULLS FIRST, waiting.served_datetime NULLS FIRST, position LIMIT 1
     FOR UPDATE OF waiting SKIP LOCKED),
   served AS (
     INSERT INTO eligibility_import_turns AS turn (account_code, served_datetime)
     SELECT account_code, statement_timestamp() FROM next
     ON CONFLICT (account_code) DO UPDATE SET served_datetime = greatest(turn.served_datetime, excluded.served_datetime))
   UPDATE eligibility_imports claimed
   SET lease_token = $1, leased_until = ${MACHINE_TIME} + ${LEASE}, served_datetime = statement_timestamp(),
     started_datetime = coalesce(started_datetime, $2)
   FROM next WHERE claimed.import_id = next.import_id
   RETURNING claimed.*`,
  acrossAccounts.workers,
);
export const CHUNK_ROWS = prepared(
  'import-chunk-rows',
  `SELECT chunk, rows FROM eligibility_import_chunks
   WHERE import_id = $1 AND chunk >= $2::int AND chunk < $2::int + $3::int ORDER BY chunk FOR UPDATE`,
);
export const RECORD = prepared(
  'import-record',
  `WITH done AS (
     UPDATE eligibility_imports SET
       next_chunk = next_chunk + cardinality($10::jsonb[]), leased_until = NULL, lease_token = NULL,
       done = done + $4, created = created + $5, updated = updated + $6, unchanged = unchanged + $11,
       cancelled = cancelled + $7, refused = refused + $8, state = CASE WHEN done + $4 = rows THEN 'DONE' ELSE state END,
       finished_datetime = CASE WHEN done + $4 = rows THEN $9::timestamptz END
     WHERE import_id = $1 AND lease_token = $2 AND state = 'RUNNING' RETURNING import_id)
   UPDATE eligibility_import_chunks chunk SET rows = NULL, outcomes = given.outcomes
   FROM done, unnest($10::jsonb[]) WITH ORDINALITY AS given (outcomes, number)
   WHERE chunk.import_id = done.import_id AND chunk.chunk = $3::int + given.number - 1`,
  acrossAccounts.keyInHand,
);
export const RELEASE = prepared(
  'import-release',
  'UPDATE eligibility_imports SET leased_until = NULL WHERE import_id = $1 AND lease_token = $2',
  acrossAccounts.keyInHand,
);
export const END = prepared(
  'import-end',
  `UPDATE eligibility_imports SET state = $2, ending = $4, finished_datetime = $3, leased_until = NULL, lease_token = NULL
   WHERE import_id = $1 AND state IN ('RECEIVING', 'RUNNING') RETURNING *`,
  acrossAccounts.keyInHand,
);
// Deletes rows that will never be processed. The statement has its own transaction. A worker locks its chunk before the
// import, so a common transaction could deadlock with the worker.
export const REMOVE_UNDONE = prepared(
  'import-remove-undone',
  `DELETE FROM eligibility_import_chunks chunk USING eligibility_imports ended
   WHERE chunk.import_id = ended.import_id AND chunk.outcomes IS NULL AND ended.state IN ('FAILED', 'ABORTED')
     AND ended.finished_datetime > $1::timestamptz - interval '1 day'`,
  acrossAccounts.sweep,
);
export const FIND_LOST = prepared(
  'import-find-lost',
  `SELECT import_id FROM eligibility_imports WHERE state = 'RECEIVING' AND ${hasLapsed('leased_until', RECEIVING_LEASE_S)}`,
  acrossAccounts.sweep,
);
export const REMOVE_OLD = prepared(
  'import-remove-old',
  `DELETE FROM eligibility_imports WHERE import_id IN (
     SELECT import_id FROM eligibility_imports WHERE finished_datetime < $1 LIMIT 1)`,
  acrossAccounts.sweep,
);
export const FIND = prepared(
  'import-find',
  'SELECT * FROM eligibility_imports WHERE import_id = $1 AND account_code = $2',
);
export const OUTCOMES = prepared(
  'import-outcomes',
  `SELECT chunk, first_row, outcomes FROM eligibility_import_chunks
   WHERE import_id = $1 AND chunk > $2 AND outcomes IS NOT NULL ORDER BY chunk LIMIT $3`,
);

export const WAITING = `SELECT waiting.import_id, waiting.chunk, waiting.rows, columns
  FROM eligibility_import_chunks waiting JOIN eligibility_imports USING (import_id)
  WHERE account_code = $1 AND state IN ('RECEIVING', 'RUNNING') AND waiting.rows IS NOT NULL
    AND (waiting.import_id, waiting.chunk) > ($2::uuid, $3::int)
  ORDER BY waiting.import_id, waiting.chunk LIMIT 10`;
export const DONE = prepared(
  'import-done-chunks',
  `SELECT done.import_id, done.chunk, done.outcomes
   FROM eligibility_import_chunks done JOIN eligibility_imports USING (import_id)
   WHERE account_code = $1 AND done.outcomes IS NOT NULL AND (done.import_id, done.chunk) > ($2::uuid, $3::int)
   ORDER BY done.import_id, done.chunk LIMIT 50`,
);
