// Gives the thread that loads it a low priority. Linux keeps one for each thread: whatever else the machine has to do comes
// first, with nine tenths of a core when all of it is busy. Elsewhere the threads of a process share one priority.
const { readlinkSync } = require('node:fs');
const { constants, setPriority } = require('node:os');

if (process.platform === 'linux') {
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
}
