import type { ClientBase } from 'pg';
import { ConfigError } from '../environment-reader.js';
import { connectTo } from './service-client.js';

type Client = Pick<ClientBase, 'query'>;

/** Tables into which the service only inserts; it never updates or deletes their rows. */
const APPEND_ONLY = ['audit_log', 'audit_seals'];
/** Tables that only migrations write, as the owner of the tables. */
const READ_ONLY = ['migrations'];

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Selects the tables and other objects of the schema, by kind. Partitions need no grants, because they are accessed
 * only through their parent tables.
 */
const OF_OWNER = `
  SELECT relkind::text AS kind, oid, relname AS name FROM pg_class
  WHERE relkind IN ('r', 'p', 'S') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
    AND relowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('migrations'))
  UNION ALL
  SELECT 'f', oid, proname FROM pg_proc
  WHERE prokind = 'f' AND pronamespace = current_schema()::regnamespace
    AND proowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('migrations'))`;

/**
 * Returns the SQL that grants a role exactly the rights that the service needs. The role can change neither the schema
 * nor audit entries. The SQL creates the role without a password, unless the role exists. The owner of the tables needs
 * the right to create roles only if the role does not exist.
 */
async function grantsFor(role: string, client: Client): Promise<string> {
  const { rows: owned } = await client.query<{ kind: string; name: string; signature: string }>(
    `SELECT kind, name, CASE kind WHEN 'f' THEN pg_get_function_identity_arguments(oid) END AS signature
     FROM (${OF_OWNER}) AS owned ORDER BY name`,
  );
  const { rows: places } = await client.query<{ database: string; schema: string }>(
    'SELECT current_database() AS database, current_schema() AS schema',
  );
  const [{ database: name, schema }] = places;
  const to = identifier(role);
  const of = (kinds: string) => owned.filter(({ kind }) => kinds.includes(kind)).map((one) => one.name);
  const address = (one: string) => `${identifier(schema)}.${identifier(one)}`;
  const all = (names: readonly string[]) => names.map(address).join(', ');
  const grant = (rights: string, names: readonly string[]) => `GRANT ${rights} ON ${all(names)} TO ${to};`;
  const tables = of('rp');
  const functions = owned.filter(({ kind }) => kind === 'f');
  return [
    `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN CREATE ROLE ${to} LOGIN; END IF;
EXCEPTION WHEN duplicate_object THEN NULL; END $$;`,
    `REVOKE ALL ON ${all(tables)} FROM ` + `${to};`,
    `REVOKE CREATE ON SCHEMA ${identifier(schema)} FROM ` + `${to};`,
    `GRANT CONNECT ON DATABASE ${identifier(name)} TO ${to};`,
    `GRANT USAGE ON SCHEMA ${identifier(schema)} TO ${to};`,
    `GRANT USAGE ON SEQUENCE ${all(of('S'))} TO ${to};`,
    `GRANT EXECUTE ON FUNCTION ${functions.map((one) => `${address(one.name)}(${one.signature})`).join(', ')} TO ${to};`,
    grant('SELECT', READ_ONLY),
    grant('SELECT, INSERT', APPEND_ONLY),
    grant(
      'SELECT, INSERT, UPDATE, DELETE',
      tables.filter((table) => ![...APPEND_ONLY, ...READ_ONLY].includes(table)),
    ),
    `-- For CONFIRM_REPLICATED: GRANT pg_read_all_stats TO ${to};`,
    '',
  ].join('\n');
}

/** Returns the SQL of {@link grantsFor} for the database at `url`. */
export async function grantsAt(url: string, role: string): Promise<string> {
  const client = await connectTo(url);
  try {
    return await grantsFor(role, client);
  } finally {
    await client.end();
  }
}

/**
 * Grants the role its rights in one transaction, so that running processes never lack a right.
 * @param url the address of the database; its user must own the tables
 * @throws ConfigError when the role is missing and the owner may not create roles
 */
export async function grantTo(role: string, url: string): Promise<void> {
  const client = await connectTo(url);
  try {
    await client.query(await grantsFor(role, client));
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new ConfigError([
      `DATABASE_URL names a role that may not grant to ${role}: ${(error as Error).message}. Create ${role} as a superuser, ` +
        'and let the role that owns the tables migrate.',
    ]);
  } finally {
    await client.end();
  }
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * Selects the rights of {@link grantsFor} that a role lacks. Only objects with the same owner as the `migrations` table
 * are checked.
 */
const LACKING = `
  SELECT name FROM (${OF_OWNER}) AS owned WHERE NOT CASE
    WHEN kind = 'S' THEN has_sequence_privilege(oid, 'USAGE')
    WHEN kind = 'f' THEN has_function_privilege(oid, 'EXECUTE')
    WHEN name = ANY ($2) THEN has_table_privilege(oid, 'SELECT')
    WHEN name = ANY ($1) THEN has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
    ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE')
      AND has_table_privilege(oid, 'DELETE') END
  ORDER BY name`;

/**
 * Checks the rights of the connected role.
 * @throws ConfigError when the role lacks a right that the service needs
 */
export async function assertRights(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(LACKING, [APPEND_ONLY, READ_ONLY]);
  if (rows.length === 0) return;
  const some = rows.slice(0, 3).map((row) => row.name);
  const more = rows.length > some.length ? ` and ${rows.length - some.length} more` : '';
  throw new ConfigError([
    `DATABASE_URL names a role that lacks rights on ${some.join(', ')}${more}: the role that owns the tables runs the SQL of ` +
      '`npm run admin -- grants --role NAME`.',
  ]);
}
