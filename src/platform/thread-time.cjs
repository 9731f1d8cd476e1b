// The processor time that the thread which asks has taken so far, in milliseconds. It leaves out the time of other threads and
// programs while this one waits for a core. Node has it from 22.19 on, Linux always; elsewhere it is the time on the clock.
const { readFileSync } = require('node:fs');

exports.threadMs = () => {
  if (process.threadCpuUsage) {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
  if (process.platform !== 'linux') return performance.now();
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
};
