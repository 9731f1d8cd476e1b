import type pg from 'pg';
import { connectTo } from '../platform/database/service-client.js';
import { RECEIVED_SCHEMA } from './received-requests.js';

/**
 * Installs the sandbox's time in SQL.
 *
 * 1. The `sandbox` schema contains the offset from the machine's time, and functions with the names of PostgreSQL's
 *    time functions. These functions are replaced whenever the clock is moved.
 * 2. For the service's role in this database, the schema precedes `pg_catalog` on the search path. Unchanged SQL
 *    statements and database functions therefore use the sandbox's time.
 * 3. PostgreSQL binds a column's default to a function when the default is declared. The installation therefore
 *    declares the defaults again, with the functions of the sandbox.
 *
 * Every start of a sandbox installs the schema before its connection pools open. Other databases do not have the
 * schema, and no statement depends on it. `transaction_timestamp()` and Node's `performance.now()` keep the machine's
 * time.
 */
export async function installClock(databaseUrl: string): Promise<void> {
  const client = await connectTo(databaseUrl);
  try {
    await client.query('BEGIN');
    // An advisory lock makes processes that install the sandbox's clock at the same time wait for each other.
    await client.query(`SELECT pg_advisory_xact_lock(hashtext('sandbox.clock'))`);
    const path = await searchPath(client);
    // The sandbox's schema is not on the search path here. The text of a column's default therefore shows whether its
    // `now()` is PostgreSQL's own function or the sandbox's function.
    await client.query(`SELECT set_config('search_path', $1, true)`, [path]);
    for (const statement of [...CLOCK, ...RECEIVED_SCHEMA]) await client.query(statement);
    const { rows: clock } = await client.query<{ ahead_ms: number }>('SELECT ahead_ms FROM sandbox.clock FOR UPDATE');
    for (const statement of clockFunctions(clock[0].ahead_ms)) await client.query(statement);
    const { rows } = await client.query<{ statement: string }>(REBIND, [`${path}, ${SCHEMA}, pg_catalog`]);
    for (const { statement } of rows) await client.query(statement);
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

const SCHEMA = 'sandbox';

const CLOCK = [
  `CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`,
  `CREATE TABLE IF NOT EXISTS sandbox.clock (ahead_ms bigint NOT NULL, generation int NOT NULL)`,
  `INSERT INTO sandbox.clock SELECT 0, 1 WHERE NOT EXISTS (SELECT FROM sandbox.clock)`,
];

/**
 * Returns the SQL that creates the sandbox's time functions for an offset. The planner can inline these functions,
 * because each function is one expression of the declared volatility. The functions therefore cost no more than
 * PostgreSQL's own functions. Replacing the functions invalidates all plans.
 */
export function clockFunctions(aheadMs: number): string[] {
  const kinds = { now: 'STABLE', statement_timestamp: 'STABLE', clock_timestamp: 'VOLATILE' };
  return Object.entries(kinds).map(
    ([
      name,
      kind,
    ]) => `CREATE OR REPLACE FUNCTION ${SCHEMA}.${name}() RETURNS timestamptz LANGUAGE sql ${kind} PARALLEL SAFE
      AS 'SELECT pg_catalog.${name}() + interval ''${aheadMs} milliseconds'''`,
  );
}

/**
 * Selects the statements that bind the defaults of columns to the sandbox's functions, for each default that is not
 * bound yet. $1: the search path.
 */
const REBIND = `
  SELECT format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT sandbox.%s', adrelid::regclass, attname, pg_get_expr(adbin, adrelid))
    AS statement
  FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum JOIN pg_class ON pg_class.oid = adrelid
  WHERE relnamespace = current_schema()::regnamespace
    AND pg_get_expr(adbin, adrelid) IN ('now()', 'statement_timestamp()', 'clock_timestamp()')
  UNION ALL
  SELECT format('ALTER FUNCTION %s SET search_path = %s', oid::regprocedure, $1::text) FROM pg_proc
  WHERE pronamespace = current_schema()::regnamespace
    AND EXISTS (SELECT FROM unnest(proconfig) setting WHERE setting LIKE 'search_path=%' AND setting NOT LIKE '%sandbox%')
  UNION ALL
  SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET search_path = %s', current_database(), $1::text)
  WHERE NOT EXISTS (
    SELECT FROM pg_db_role_setting, unnest(setconfig) setting
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND setrole = current_user::regrole AND setting LIKE 'search_path=%sandbox%')`;

/** Returns the search path that the service would have without the sandbox's schema. */
async function searchPath(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ search_path: string }>('SHOW search_path');
  return rows[0].search_path
    .split(/\s*,\s*/)
    .filter((schema) => schema !== SCHEMA && schema !== 'pg_catalog')
    .join(', ');
}
