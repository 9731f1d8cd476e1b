// Starts the built service on the Node that runs this, in a folder of its own, asks whether it is ready, and ends it:
// `node scripts/smoke.mjs`. Exits with 0 when the service did as it should.
import { withService } from './own-service.mjs';

await withService(async ({ base_url: base }) => {
  const ready = await fetch(`${base}/health/ready`);
  const unknown = await fetch(`${base}/accounts/nobody/candidates/nobody`);
  if (ready.status !== 200 || unknown.status !== 401) throw new Error(`Answers ${ready.status} and ${unknown.status}.`);
});
console.log(`Node ${process.version}: started, ready, ended.`);
