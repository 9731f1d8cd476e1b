// Gives the thread that loads this file a low priority. Linux has a priority for each thread: other work on the machine
// runs first, and gets about nine tenths of a busy core. On other systems, the threads of a process share one priority.
const { readlinkSync } = require('node:fs');
const { constants, setPriority } = require('node:os');

if (process.platform === 'linux') {
  const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  try {
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some sandboxes forbid the system call, for example the filter @resources of systemd. The thread then keeps its
    // priority.
  }
}
