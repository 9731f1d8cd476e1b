// Gives the thread that loads this file a low priority on Linux, which has a priority for each thread. Other work on
// the machine then runs first, and gets about nine tenths of a busy core. On other systems, all threads of a process
// share one priority, so nothing is changed.
const { readlinkSync } = require('node:fs');
const { constants, setPriority } = require('node:os');

if (process.platform === 'linux') {
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  try {
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some sandboxes forbid the system call, for example by systemd's `@resources` filter. The thread then keeps its
    // priority.
  }
}
