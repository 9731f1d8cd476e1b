import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { UndeliveredFigures } from '../../src/notifications/delivery/undelivered-figures';
import { Metrics } from '../../src/platform/observability/metrics';
import { startApp, type TestApp } from '../support/app';
import { exportedBy, unknownIn, type Exported } from '../support/promql';

const root = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
interface Panel {
  title: string;
  gridPos: { x: number; y: number };
  targets: { expr?: string; rawSql?: string }[];
}

const alerts = (parse(read('deploy/prometheus/rules.yml')) as { groups: { rules: Alert[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const runbook = read('docs/runbook.md');
const dashboards = readdirSync(join(root, 'deploy/grafana')).map((file) => ({
  file,
  ...(JSON.parse(read(`deploy/grafana/${file}`)) as { uid: string; panels: Panel[] }),
}));
const targets = dashboards.flatMap(({ file, panels }) =>
  panels.flatMap((panel) => panel.targets.map((target) => ({ where: `${file}: ${panel.title}`, ...target }))),
);

/** Maps each alert of a runbook to its entry: the text from its level-three heading to the next heading. */
const entriesOf = (text: string) =>
  new Map(
    text
      .split(/^### /m)
      .slice(1)
      .map((entry) => [entry.split('\n', 1)[0], entry.split(/^## /m)[0]]),
  );

function missingIn(text: string, names: string[]): string[] {
  const entries = entriesOf(text);
  const parts = ['**meaning**', '**check**', '**fix**', '**resolved when**'];
  return [
    ...names.filter((name) => !entries.has(name)),
    ...[...entries.keys()].filter((name) => !names.includes(name)).map((name) => `no alert ${name}`),
    ...[...entries].flatMap(([name, entry]) =>
      parts.filter((part) => !entry.toLowerCase().replaceAll(/\s+/g, ' ').includes(part)).map((p) => `${name}: ${p}`),
    ),
  ];
}

/** The queries of the autoscaling adapter, with values instead of their placeholders. */
const scaling = [...read('deploy/kubernetes/prometheus-adapter.yaml').matchAll(/metricsQuery: '(.*)'/g)].map(
  ([, query]) => query.replace('<<.GroupBy>>', 'instance').replace('<<.LabelMatchers>>', 'job="x"'),
);

describe('§14 alert rules, dashboards and runbook', () => {
  let app: TestApp;
  let exported: Exported;

  beforeAll(async () => {
    app = await startApp({ env: { CONFIRM_REPLICATED: '1' } });
    exported = exportedBy(app.app.get(Metrics).registry.getMetricsAsArray());
  });
  afterAll(() => app.close());

  it('the alerts and dashboards use only metrics that a process exports', () => {
    expect(alerts.length).toBeGreaterThan(15);
    expect(alerts.map(({ alert, expr }) => [alert, unknownIn(expr, exported)]).filter(([, u]) => u.length > 0)).toEqual(
      [],
    );
    expect(scaling.length).toBe(2);
    expect(scaling.flatMap((query) => unknownIn(query, exported))).toEqual([]);
    const queries = targets.filter(({ expr }) => expr !== undefined);
    expect(queries.length).toBeGreaterThan(30);
    expect(
      queries.map(({ where, expr }) => [where, unknownIn(expr!, exported)]).filter(([, u]) => u.length > 0),
    ).toEqual([]);
  });

  it.each([
    ['a metric', 'max(notification_oldest_seconds) > 1', ['notification_oldest_seconds']],
    ['a part of a histogram', 'rate(http_request_duration_seconds[5m])', ['http_request_duration_seconds']],
    ['a label of a matcher', 'notifications_undelivered{exam="2h"}', ['label exam']],
    ['a label of a grouping', 'sum by (partner) (notification_attempts_total)', ['label partner']],
    ['a parenthesis', 'sum(up', ['syntax of sum(up']],
  ])('the check of alerts and dashboards reports an unknown name or syntax error: %s', (_what, query, found) => {
    expect(unknownIn(query, exported)).toEqual(found);
  });

  it('the alerts and dashboards use only existing values of the exam_in label (time until the exam)', async () => {
    await app.app.get(UndeliveredFigures).count();
    const text = await app.app.get(Metrics).registry.metrics();
    const asked = [...alerts.map(({ expr }) => expr), ...targets.map(({ expr }) => expr ?? '')].flatMap((expr) =>
      [...expr.matchAll(/exam_in="([^"]*)"/g)].map(([, value]) => value),
    );
    expect(new Set(asked)).toEqual(new Set(['2h', '24h']));
    for (const value of asked) expect(text).toContain(`notifications_undelivered{exam_in="${value}"}`);
  });

  it('the alerts and dashboards use only SQL that PostgreSQL accepts', async () => {
    const statements = targets.filter(({ rawSql }) => rawSql !== undefined);
    expect(statements.length).toBeGreaterThan(5);
    for (const { rawSql } of statements) await app.database.pool.query(rawSql!);
  });

  it('the dashboard begins with the undelivered notifications, sorted by the time left to the exam', () => {
    const [first] = dashboards.find(({ file }) => file === 'delivery.json')!.panels;
    expect(first.gridPos).toMatchObject({ x: 0, y: 0 });
    expect(first.targets[0].expr).toMatch(/by \(exam_in\) \(notifications_undelivered/);
  });

  it('each alert links to its runbook entry, and each runbook entry belongs to an alert', () => {
    const names = alerts.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    expect(missingIn(runbook, names)).toEqual([]);
    for (const { alert, annotations, labels } of alerts) {
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
      expect(['page', 'ticket']).toContain(labels.severity);
    }
    const mentioned = [...runbook.matchAll(/`(\w+)(?:\{[^}]*\})?`/g)].map(([, name]) => name);
    const figures = mentioned.filter((name) =>
      /^(audit|notifications?|domain|http|database|nodejs|process)_/.test(name),
    );
    const known = [...exported.keys()].flatMap((name) => [name, name.replace(/_(bucket|sum|count)$/, '')]);
    expect(figures.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('the runbook check reports a missing or incomplete entry', () => {
    expect(missingIn(runbook, ['Unheard', ...alerts.map(({ alert }) => alert)])).toEqual(['Unheard']);
    expect(
      missingIn(
        runbook,
        alerts.slice(1).map(({ alert }) => alert),
      ),
    ).toEqual([`no alert ${alerts[0].alert}`]);
    expect(missingIn('### A\n**Meaning** x **Check** y **Fix** z\n', ['A'])).toEqual(['A: **resolved when**']);
  });

  it('each alert has a test in which it fires', () => {
    const { tests } = parse(read('deploy/prometheus/rules.test.yml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const outcomes = tests.flatMap(({ alert_rule_test: cases }) => cases);
    for (const fires of [true, false])
      expect(
        new Set(outcomes.filter((one) => one.exp_alerts.length > 0 === fires).map(({ alertname }) => alertname)),
      ).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });
});
