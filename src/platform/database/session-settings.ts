import pg from 'pg';

/**
 * The session settings on which the service's statements depend. They override `ALTER ROLE … SET`, `ALTER DATABASE …
 * SET`, the server's configuration files and the options of `DATABASE_URL`. With a different `DateStyle`, the driver
 * would misread times; with a different isolation level, concurrent commands would fail.
 *
 * The schema (`search_path`), the role and the read-only setting stay as configured.
 */
const RELIED_ON: Readonly<Record<string, string>> = {
  // The settings of the first group define the text format of the values that the driver reads and writes.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  // The settings of the second group decide how PostgreSQL parses a statement.
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  // The settings of the third group decide how PostgreSQL runs a statement. `read committed` is sufficient, because
  // locks and constraints resolve conflicts between concurrent commands.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  session_replication_role: 'origin',
  gin_fuzzy_search_limit: '0',
  // PostgreSQL's idle timeouts are off, because the server must not close an idle connection of a pool, or a connection
  // that waits for a migration.
  idle_session_timeout: '0',
  transaction_timeout: '0',
  // Notices are suppressed, because the driver would have to read each of them.
  client_min_messages: 'warning',
};

/**
 * The time limits of a connection for which the caller sets no limits. The value 0 means that there is no limit. The
 * limits of the pools are in connections.ts.
 */
const WITHOUT_LIMITS: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/**
 * The values of `synchronous_commit` that are too weak for the durability that a response promises. With such a value,
 * a commit could be lost when the server crashes, or in a failover to a standby.
 */
const WEAK_COMMITS = ['off', 'local', 'remote_write'];

/**
 * Returns the expressions of a SELECT that sets up the session of a new connection.
 * @param settings the settings of this kind of connection, together with the settings in `DATABASE_URL`
 */
export function sessionSettings(settings: Readonly<Record<string, string>>): string[] {
  const asked = Object.entries({ ...WITHOUT_LIMITS, ...settings }).map(([name, value]) => set(name, value));
  // A setting that this release of PostgreSQL lacks is skipped. A setting that already has the required value is not
  // set again, because setting it may require a right.
  const relied = Object.entries(RELIED_ON).map(
    ([name, value]) => `CASE WHEN current_setting('${name}', true) <> '${value}' THEN ${set(name, value)} END`,
  );
  const weak = WEAK_COMMITS.map((commits) => `'${commits}'`).join(', ');
  const commits = `CASE WHEN current_setting('synchronous_commit') IN (${weak}) THEN ${set('synchronous_commit', 'on')} END`;
  return [...('synchronous_commit' in settings ? [] : [commits]), ...asked, ...relied];
}

const set = (name: string, value: string): string =>
  `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(value)}, false)`;
