import type { ClientBase } from 'pg';
import type { Statement } from '../../src/platform/database/database';
import { eventually } from './eventually';

type Value = string | number | boolean | Date | null;
/** The parameter values of a statement. An SQL array is passed as a list. */
export type Values = (Value | readonly Value[])[];

interface PlanNode {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

/** Runs a statement. Returns the number of pages that the statement reads, from memory or disk. */
export async function pagesOf(client: ClientBase, statement: string): Promise<number> {
  const plan = await explained(client, 'ANALYZE, BUFFERS', statement);
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Runs a statement. Returns the number of rows that the statement returns, and the number of rows that it reads. */
export async function rowsOf(client: ClientBase, statement: string): Promise<{ answered: number; lookedAt: number }> {
  const plan = await explained(client, 'ANALYZE', statement);
  return { answered: plan['Actual Rows'], lookedAt: lookedAt(plan) };
}

/** Returns the number of rows that a prepared statement of the connection reads. */
export async function looksAt(client: ClientBase, { name }: Statement, values: Values): Promise<number> {
  const given = values.length > 0 ? `(${values.map(literal).join()})` : '';
  return (await rowsOf(client, `EXECUTE "${name}" ${given}`)).lookedAt;
}

const textOf = (value: Value) => (value instanceof Date ? value.toISOString() : String(value));
const literal = (value: Value | readonly Value[]): string => {
  if (value === null) return 'NULL';
  if (!Array.isArray(value)) return `'${textOf(value as Value)}'`;
  return `'{${value.map((one: Value) => (one === null ? 'NULL' : JSON.stringify(textOf(one)))).join()}}'`;
};

async function explained(client: ClientBase, options: string, statement: string): Promise<PlanNode> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (${options}, FORMAT JSON) ${statement}`,
  );
  return rows[0]['QUERY PLAN'][0].Plan;
}

function lookedAt(node: PlanNode): number {
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, child) => sum + lookedAt(child), 0);
  return node['Actual Loops'] * (node['Actual Rows'] + removed) + below;
}

/**
 * Vacuums a table repeatedly until all its pages are marked as visible to all transactions. An older transaction or an
 * autovacuum can prevent this. An index-only scan would then also read the table.
 */
export async function vacuumWhole(
  sql: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>,
  table: string,
) {
  await eventually(async () => {
    await sql(`VACUUM (ANALYZE) ${table}`);
    const [{ whole }] = await sql('SELECT relallvisible >= relpages AS whole FROM pg_class WHERE oid = $1::regclass', [
      table,
    ]);
    return whole as boolean;
  }, 60_000);
}
