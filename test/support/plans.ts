import type { ClientBase } from 'pg';

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Join Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

/** Runs a statement; how many rows it answers with, and how many it looks at on its way. */
export async function rowsOf(client: ClientBase, statement: string): Promise<{ answered: number; lookedAt: number }> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
  );
  const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
  return { answered: plan['Actual Rows'], lookedAt: lookedAt(plan) };
}

function lookedAt(node: PlanNode): number {
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, child) => sum + lookedAt(child), 0);
  return node['Actual Loops'] * (node['Actual Rows'] + removed) + below;
}
