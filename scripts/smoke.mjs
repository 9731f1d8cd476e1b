// Starts the built service in a temporary folder, with the Node that runs this script, checks that it becomes ready,
// and stops it: `node scripts/smoke.mjs`. The exit code is 0 when everything worked. With `--from-sources`, the script
// does the same as `npm start` in a fresh clone, without any setting: one process first builds the service and then
// runs it. In both cases, the service must be a sandbox.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withService } from './own-service.mjs';

const how = process.argv.includes('--from-sources') ? [{ NODE_ENV: '' }, 'scripts/start.mjs'] : [];

await withService(
  async ({ base_url: base, folder }) => {
    if (!existsSync(join(folder, 'sandbox.json'))) throw new Error('It is no sandbox.');
    const ready = await fetch(`${base}/health/ready`);
    const unknown = await fetch(`${base}/accounts/nobody/candidates/nobody`);
    if (ready.status !== 200 || unknown.status !== 401)
      throw new Error(`Answers ${ready.status} and ${unknown.status}.`);
  },
  ...how,
);
console.log(`Node ${process.version}: started, ready, ended.`);
