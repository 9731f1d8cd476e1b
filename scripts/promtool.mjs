// Asks Prometheus' own tool: are the alert rules and the queries of the dashboards well formed, do the alerts fire when they should,
// has the built service well-named metrics? `node scripts/promtool.mjs`. Without a promtool on the machine, Debian's is unpacked into a folder that goes away.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withService } from './own-service.mjs';

const deploy = join(dirname(dirname(fileURLToPath(import.meta.url))), 'deploy');
const rules = join(deploy, 'prometheus');
const folder = mkdtempSync(join(tmpdir(), 'eligibility-promtool-'));

/** The one on the machine, else Debian's. */
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

/** The queries of the dashboards as recording rules, which is what promtool reads. YAML takes JSON. */
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
