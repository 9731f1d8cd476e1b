// Does each panel of deploy/grafana show something? A Prometheus of Debian's scrapes a started service that has traffic and a partner
// that cannot be reached, and is asked what each panel asks: `node scripts/dashboards.mjs`. An answer without a series fails, except where
// nothing to show is the good news. With `--pictures` the answers are drawn, for docs/operations.md.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { drawDashboard } from './dashboard-picture.mjs';
import { withService } from './own-service.mjs';
import { findPrometheus } from './prometheus.mjs';

const pictures = process.argv.includes('--pictures');
const TRAFFIC_MS = pictures ? 120_000 : 20_000;
/** Of its panels that ask PostgreSQL in SQL there is no picture. */
const DRAWN = ['service', 'delivery'];
// The last with CONFIRM_REPLICATED alone, which would hold everything back here: test/eyes.e2e.ts knows its names.
const EMPTY_WHEN_WELL = new Set(['5xx by route', 'Share of 5xx', 'Standbys']);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const grafana = join(root, 'deploy/grafana');
const folder = mkdtempSync(join(tmpdir(), 'eligibility-dashboards-'));

const read = (file) => JSON.parse(readFileSync(join(grafana, file), 'utf8'));
const queryOf = (expr) => expr.replaceAll('$job', '.+').replaceAll('$__rate_interval', '30s');
const questions = readdirSync(grafana).flatMap((file) =>
  read(file).panels.flatMap(({ title, targets }) =>
    targets
      .filter(({ expr }) => expr !== undefined)
      .map(({ expr }) => ({ title, where: `${file}: ${title}`, query: queryOf(expr) })),
  ),
);

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

async function login(base, { consumer_key: key, consumer_secret: secret, username, password }) {
  const answer = await fetch(`${base}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${key}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'password', username, password }),
  });
  const { access_token: token } = await answer.json();
  return async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** Bookings, told to a partner that takes them and to one whose certificate is trusted no more. */
async function makeTraffic(base, sandbox) {
  const [client, operator] = [await login(base, sandbox.client), await login(base, sandbox.operator)];
  const { account_code: account, partner } = sandbox;
  const { partner_url, ca_pem } = partner;
  for (const spoilt of [false, true]) {
    const { id } = await operator('POST', '/admin/subscriptions', { account_code: account, partner_url, ca_pem });
    await operator('POST', `/admin/subscriptions/${id}/verify`);
    if (spoilt) await operator('PATCH', `/admin/subscriptions/${id}`, { ca_pem: null });
  }
  const at = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 19) + 'Z';
  const { test_code: test } = sandbox.tests[0];
  for (const until = Date.now() + TRAFFIC_MS; Date.now() < until; await pause(100)) {
    const candidate = `C-${randomUUID()}`;
    await client('POST', `/accounts/${account}/candidates`, {
      test_code: test,
      eligibility_end_date: at(90),
      candidate: { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' },
    });
    await client('POST', `/accounts/${account}/candidates/${candidate}/tests/${test}/bookings`, {
      booking_on: at(7),
      delivery_mode: 'SVC_REMOTE_PROCTORED',
    });
  }
}

async function withPrometheus(metricsUrl, use) {
  const { prometheus } = findPrometheus(folder);
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s' },
    scrape_configs: [{ job_name: 'eligibility', static_configs: [{ targets: [new URL(metricsUrl).host] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const options = {
    'config.file': 'prometheus.yml',
    'storage.tsdb.path': 'data',
    'web.listen-address': `127.0.0.1:${port}`,
  };
  const child = spawn(
    prometheus,
    Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    {
      cwd: folder,
      stdio: 'ignore',
    },
  );
  const ended = once(child, 'exit');
  try {
    await use(async (query, range) => {
      const asked = new URLSearchParams({ query, ...range });
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query${range ? '_range' : ''}?${asked}`);
      const { status, error, data } = await answer.json();
      if (status !== 'success') throw new Error(`${query}: ${error}`);
      return data.result;
    });
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

/** Every panel with what it shows of these seconds. */
async function draw(ask, from, to) {
  for (const name of DRAWN) {
    const { title, panels } = read(`${name}.json`);
    const shown = [];
    for (const { title: heading, gridPos, fieldConfig, targets } of panels) {
      const series = [];
      for (const { expr, legendFormat } of targets)
        for (const { metric, values } of await ask(queryOf(expr), { start: from, end: to, step: 1 }))
          series.push({
            label: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_all, label) => metric[label] ?? ''),
            values,
          });
      shown.push({ heading, gridPos, unit: fieldConfig.defaults.unit, series });
    }
    await drawDashboard({ title, from, to, panels: shown }, join(root, `docs/dashboards/${name}.png`));
  }
}

try {
  await withService(async ({ base_url: base, metrics_url: metricsUrl, folder: data }) => {
    await withPrometheus(metricsUrl, async (ask) => {
      const from = Math.floor(Date.now() / 1000);
      await makeTraffic(base, JSON.parse(readFileSync(join(data, 'sandbox.json'), 'utf8')));
      // The figures of the queue are counted every ten seconds.
      await pause(12_000);
      const silent = [];
      for (const { title, where, query } of questions) {
        const series = await ask(query);
        const says = series.some(({ value }) => Number.isFinite(Number(value[1])));
        if (!says && !EMPTY_WHEN_WELL.has(title)) silent.push(`${where}: ${query}`);
      }
      if (silent.length > 0) throw new Error(`Panels without a figure:\n${silent.join('\n')}`);
      if (pictures) await draw(ask, from, Math.floor(Date.now() / 1000));
      console.log(`${questions.length} questions of the dashboards are answered.`);
    });
  });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
