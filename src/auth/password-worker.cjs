// A thread that hashes passwords; passwords.ts is its other side.
require('../platform/low-priority.cjs');
const { parentPort } = require('node:worker_threads');
const { hashSync, verifySync } = require('@node-rs/argon2');

parentPort.on('message', ({ password, cost, hashed }) => {
  try {
    parentPort.postMessage({ result: cost ? hashSync(password, cost) : verifySync(hashed, password) });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
