// Runs Prometheus's own checks: `node scripts/promtool.mjs`. The checks cover the syntax of alert rules and dashboard
// queries, the tests of the alerts, and the names of the built service's metrics. If promtool is not installed, the
// script unpacks it from Debian's package into a temporary folder.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withService } from './own-service.mjs';

const deploy = join(dirname(dirname(fileURLToPath(import.meta.url))), 'deploy');
const rules = join(deploy, 'prometheus');
const folder = mkdtempSync(join(tmpdir(), 'eligibility-promtool-'));

/** Returns the path of the installed promtool. If promtool is not installed, returns the path of Debian's promtool. */
function findPromtool() {
  if (spawnSync('promtool', ['--version']).status === 0) return 'promtool';
  const run = (command, ...rest) =>
    execFileSync(command, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  run('apt-get', 'update', '-qq');
  run('apt-get', 'download', '-qq', 'prometheus');
  run(
    'dpkg-deb',
    '-x',
    readdirSync(folder).find((name) => name.endsWith('.deb')),
    '.',
  );
  return join(folder, 'usr/bin/promtool');
}

/**
 * Returns the queries of the dashboards as recording rules, because promtool can read only rules. The rules are written
 * as JSON, which is valid YAML.
 */
function queriesOfDashboards() {
  const queries = readdirSync(join(deploy, 'grafana')).flatMap((file) =>
    JSON.parse(readFileSync(join(deploy, 'grafana', file), 'utf8'))
      .panels.flatMap(({ targets }) => targets)
      .filter(({ expr }) => expr !== undefined)
      .map(({ expr }) => expr.replaceAll('$job', '.+').replaceAll('$__rate_interval', '30s')),
  );
  const file = join(folder, 'dashboards.json');
  const recorded = queries.map((expr, number) => ({ record: `dashboard:${number}`, expr }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules: recorded }] }));
  return file;
}

try {
  const promtool = findPromtool();
  const ask = (subject, rest, input = '') =>
    execFileSync(promtool, [subject, ...rest], { input, stdio: ['pipe', 'inherit', 'inherit'] });
  ask('check', ['rules', join(rules, 'rules.yml')]);
  ask('check', ['rules', queriesOfDashboards()]);
  ask('test', ['rules', join(rules, 'rules.test.yml')]);
  await withService(async ({ metrics_url: address }) => {
    const text = await (await fetch(address)).text();
    ask('check', ['metrics'], text);
    console.log(`check metrics: ${text.match(/^# TYPE /gm).length} metrics`);
  });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
