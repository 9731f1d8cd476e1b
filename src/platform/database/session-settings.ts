import pg from 'pg';

/**
 * Settings that the statements of the service rely on. `ALTER ROLE … SET`, `ALTER DATABASE … SET`, the server's files and the
 * options of `DATABASE_URL` change none of them: with another `DateStyle` the driver reads other times, with another isolation
 * concurrent commands fail.
 *
 * The schema (`search_path`), the role and whether the database is read-only stay as prescribed.
 */
const RELIED_ON: Readonly<Record<string, string>> = {
  // Texts of values, which the driver reads and writes.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  array_nulls: 'on',
  // How a statement is read.
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  // How it is run: locks and constraints decide between concurrent commands.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  session_replication_role: 'origin',
  gin_fuzzy_search_limit: '0',
  // A connection that is kept, or that waits for its migration, is no fault.
  idle_session_timeout: '0',
  transaction_timeout: '0',
  // The driver reads each notice.
  client_min_messages: 'warning',
};

/** Limits of a connection that names none of its own: those of the pools are in connections.ts. */
const WITHOUT_LIMITS: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
};

/** Weaker than what an answer promises: a commit may be lost with the server, or with a primary that has a standby. */
const WEAK_COMMITS = ['off', 'local', 'remote_write'];

/**
 * Expressions that set the session of a new connection, for a SELECT.
 * @param settings what this kind of connection has, and what `DATABASE_URL` asks for
 */
export function sessionSettings(settings: Readonly<Record<string, string>>): string[] {
  const asked = Object.entries({ ...WITHOUT_LIMITS, ...settings }).map(([name, value]) => set(name, value));
  // A release of PostgreSQL without the setting does without it; one that is right already asks for no right to change it.
  const relied = Object.entries(RELIED_ON).map(
    ([name, value]) => `CASE WHEN current_setting('${name}', true) <> '${value}' THEN ${set(name, value)} END`,
  );
  const weak = WEAK_COMMITS.map((commits) => `'${commits}'`).join(', ');
  const commits = `CASE WHEN current_setting('synchronous_commit') IN (${weak}) THEN ${set('synchronous_commit', 'on')} END`;
  return [...('synchronous_commit' in settings ? [] : [commits]), ...asked, ...relied];
}

const set = (name: string, value: string): string =>
  `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(value)}, false)`;
