// The processor time that the thread which asks has taken so far, in milliseconds. What other threads and programs take, while
// this one waits for a core, is not in it. Node tells it from 22.19 on, Linux always; elsewhere it is the time on the clock.
const { readFileSync } = require('node:fs');

exports.threadMs = () => {
  if (process.threadCpuUsage) {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  }
  if (process.platform !== 'linux') return performance.now();
  return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
};
