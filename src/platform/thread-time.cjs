// Returns the processor time of the calling thread in milliseconds, without the time for which the thread waits for a
// core. Node provides this time from version 22.19 on, and Linux always provides it. With an older Node on another
// system, the result is the elapsed time.
const { readFileSync } = require('node:fs');

exports.threadMs = () => {
  if (process.threadCpuUsage) {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
  if (process.platform !== 'linux') return performance.now();
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
};
