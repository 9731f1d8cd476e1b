import type { ClientBase } from 'pg';
import { ConfigError } from '../../config.js';
import type { Database } from './database.js';

/** The service adds to these tables, and never changes or removes what stands there. */
const APPEND_ONLY = ['audit_log', 'audit_seals'];
/** Only a start that migrates writes here, by the role that owns the tables. */
const READ_ONLY = ['migrations'];

/**
 * SQL that lets a role run the service and do nothing else: it cannot change the schema, nor rewrite the audit. The role is
 * made where there is none, without a password.
 */
export async function grantsFor(role: string, database: Database): Promise<string> {
  const tables = await database.query<{ name: string }>({
    text: `SELECT relname AS name FROM pg_class
           WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace ORDER BY relname`,
  });
  const place = await database.queryOne<{ database: string; schema: string }>({
    text: 'SELECT current_database() AS database, current_schema() AS schema',
  });
  const { database: name, schema } = place!;
  const to = identifier(role);
  const grant = (rights: string, names: readonly string[]) =>
    `GRANT ${rights} ON ${names.map((table) => `${identifier(schema)}.${identifier(table)}`).join(', ')} TO ${to};`;
  const others = tables.map((table) => table.name).filter((table) => ![...APPEND_ONLY, ...READ_ONLY].includes(table));
  return [
    `DO $$ BEGIN CREATE ROLE ${to} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${identifier(schema)} FROM ` + `${to};`,
    `REVOKE CREATE ON SCHEMA ${identifier(schema)} FROM ` + `${to};`,
    `GRANT CONNECT ON DATABASE ${identifier(name)} TO ${to};`,
    `GRANT USAGE ON SCHEMA ${identifier(schema)} TO ${to};`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${identifier(schema)} TO ${to};`,
    grant('SELECT', READ_ONLY),
    grant('SELECT, INSERT', APPEND_ONLY),
    grant('SELECT, INSERT, UPDATE, DELETE', others),
    `-- For CONFIRM_REPLICATED: GRANT pg_read_all_stats TO ${to};`,
    '',
  ].join('\n');
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** What a role lacks of the rights that {@link grantsFor} gives; tables of other owners are none of ours. */
const LACKING = `
  SELECT relname AS name FROM pg_class
  WHERE relkind IN ('r', 'p', 'S') AND relnamespace = current_schema()::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('migrations')) AND NOT CASE
    WHEN relkind = 'S' THEN has_sequence_privilege(oid, 'USAGE')
    WHEN relname = ANY ($2) THEN has_table_privilege(oid, 'SELECT')
    WHEN relname = ANY ($1) THEN has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
    ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE')
      AND has_table_privilege(oid, 'DELETE') END
  ORDER BY name`;

/** @throws ConfigError when the role of the connection may not do what the service does. */
export async function assertRights(client: Pick<ClientBase, 'query'>): Promise<void> {
  const { rows } = await client.query<{ name: string }>(LACKING, [APPEND_ONLY, READ_ONLY]);
  if (rows.length === 0) return;
  const some = rows.slice(0, 3).map((row) => row.name);
  const more = rows.length > some.length ? ` and ${rows.length - some.length} more` : '';
  throw new ConfigError([
    `DATABASE_URL names a role that lacks rights on ${some.join(', ')}${more}: the role that owns the tables runs the SQL of ` +
      '`npm run admin -- grants --role NAME`.',
  ]);
}
