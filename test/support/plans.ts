import type { ClientBase } from 'pg';

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

/** Runs a statement; how many pages it reads, from memory or from the disk. */
export async function pagesOf(client: ClientBase, statement: string): Promise<number> {
  const plan = await explained(client, 'ANALYZE, BUFFERS', statement);
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Runs a statement; how many rows it answers with, and how many it looks at on its way. */
export async function rowsOf(client: ClientBase, statement: string): Promise<{ answered: number; lookedAt: number }> {
  const plan = await explained(client, 'ANALYZE', statement);
  return { answered: plan['Actual Rows'], lookedAt: lookedAt(plan) };
}

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
