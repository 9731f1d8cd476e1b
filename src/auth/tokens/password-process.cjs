// The process that hashes passwords. passwords.ts starts this process, which ends when the channel to its parent
// closes.
require('../../platform/worker-start.cjs');
const { hashSync, verifySync } = require('@node-rs/argon2');

process.on('message', ({ password, cost, hashed }) => {
  try {
    const before = process.cpuUsage();
    const value = cost ? hashSync(password, cost) : verifySync(hashed, password);
    const { user, system } = process.cpuUsage(before);
    process.send({ result: { value, ms: (user + system) / 1000 } });
  } catch (error) {
    process.send({ error: error.message });
  }
});
