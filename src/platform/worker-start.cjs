// Prepares a process that worker-process.ts has started. Each program loads this file first.
const { constants, setPriority } = require('node:os');

// Other work on the machine runs first, and gets about nine tenths of a busy core.
try {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
} catch {
  // Some sandboxes forbid the system call, for example by systemd's `@resources` filter. The process then keeps its
  // priority.
}

// These signals are ignored. A terminal and systemd send them to all processes of the service. However, the service
// still needs the jobs that are under way, to complete its requests.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
