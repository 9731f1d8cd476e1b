// The thread that hashes passwords; passwords.ts uses it.
require('../../platform/low-priority.cjs');
const { parentPort } = require('node:worker_threads');
const { hashSync, verifySync } = require('@node-rs/argon2');
const { threadMs } = require('../../platform/thread-time.cjs');

parentPort.on('message', ({ password, cost, hashed }) => {
  try {
    const before = threadMs();
    const value = cost ? hashSync(password, cost) : verifySync(hashed, password);
    parentPort.postMessage({ result: { value, ms: threadMs() - before } });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
