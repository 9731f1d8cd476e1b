// A thread that hashes passwords; passwords.ts is its other side.
const { readlinkSync } = require('node:fs');
const { constants, setPriority } = require('node:os');
const { parentPort } = require('node:worker_threads');
const { hashSync, verifySync } = require('@node-rs/argon2');

// Linux keeps a priority for each thread: whatever else the machine has to do comes first, with nine tenths of a core when
// all of it is busy. Elsewhere the threads share one priority.
if (process.platform === 'linux') {
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
}

parentPort.on('message', ({ password, cost, hashed }) => {
  try {
    parentPort.postMessage({ result: cost ? hashSync(password, cost) : verifySync(hashed, password) });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
