// Starts the built service on the Node that runs this, in a folder of its own, asks whether it is ready, and ends it:
// `node scripts/smoke.mjs`. Exits with 0 when the service did as it should. `--from-sources`: as `npm start` does in a fresh clone, where it
// builds the service in the process that becomes it, and with no setting at all: it must be a sandbox.
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
