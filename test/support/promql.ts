import { parser } from '@prometheus-io/lezer-promql';

/** Maps the names of exported metrics, as they occur in a query, to the labels that they may have. */
export type Exported = Map<string, Set<string>>;

interface Registered {
  name: string;
  type?: unknown;
  labelNames?: string[];
}

/** The labels that Prometheus adds when it scrapes a process. */
const OF_THE_SCRAPE = ['job', 'instance'];

export function exportedBy(metrics: object[]): Exported {
  const exported: Exported = new Map([['up', new Set(OF_THE_SCRAPE)]]);
  for (const metric of metrics as Registered[]) {
    const labels = [...OF_THE_SCRAPE, ...(metric.labelNames ?? [])];
    if ('buckets' in metric || 'upperBounds' in metric) {
      exported.set(`${metric.name}_bucket`, new Set([...labels, 'le']));
      for (const part of ['sum', 'count']) exported.set(`${metric.name}_${part}`, new Set(labels));
    } else exported.set(metric.name, new Set(labels));
  }
  return exported;
}

/**
 * Returns the faults of a query. A fault is invalid PromQL, a metric that is not exported, or a label that its metric
 * does not have.
 */
export function unknownIn(query: string, exported: Exported): string[] {
  // Grafana replaces the `$__rate_interval` variable with a duration. Other variables may have any value.
  const text = query.replaceAll('$__rate_interval', '5m');
  const unknown: string[] = [];
  const textOf = (node: { from: number; to: number }) => text.slice(node.from, node.to);
  /** The labels of the metrics inside each open selector or aggregation of the query. */
  const open: { labels: Set<string>; named: string[] }[] = [];
  parser.parse(text).iterate({
    enter: (ref) => {
      const { node } = ref;
      if (ref.type.isError) unknown.push(`syntax of ${query}`);
      if (ref.name === 'VectorSelector' || ref.name === 'AggregateExpr') open.push({ labels: new Set(), named: [] });
      if (ref.name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        const labels = exported.get(textOf(ref));
        if (labels === undefined) unknown.push(textOf(ref));
        for (const { labels: seen } of open) for (const label of labels ?? []) seen.add(label);
      }
      if (ref.name === 'LabelName') open.at(-1)?.named.push(textOf(ref));
    },
    leave: (ref) => {
      if (ref.name !== 'VectorSelector' && ref.name !== 'AggregateExpr') return;
      const { labels, named } = open.pop()!;
      // The labels of an unknown metric are not reported, because the metric itself is already reported.
      if (labels.size > 0) for (const name of named) if (!labels.has(name)) unknown.push(`label ${name}`);
    },
  });
  return unknown;
}
