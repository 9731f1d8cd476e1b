// Asks Prometheus' own tool: are the alert rules well formed, do they fire when they should, has the built service well-named
// metrics? `node scripts/promtool.mjs`. Without a promtool on the machine, Debian's is unpacked into a folder that goes away.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withService } from './own-service.mjs';
import { findPrometheus } from './prometheus.mjs';

const rules = join(dirname(dirname(fileURLToPath(import.meta.url))), 'deploy/prometheus');
const folder = mkdtempSync(join(tmpdir(), 'eligibility-promtool-'));

try {
  const { promtool } = findPrometheus(folder);
  const ask = (subject, rest, input = '') =>
    execFileSync(promtool, [subject, ...rest], { input, stdio: ['pipe', 'inherit', 'inherit'] });
  ask('check', ['rules', join(rules, 'rules.yml')]);
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
