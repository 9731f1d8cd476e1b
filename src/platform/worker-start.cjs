// Prepares a process that worker-process.ts has started. Each program loads this file first.

// These signals are ignored. A terminal and systemd send them to all processes of the service. However, the service
// still needs the jobs that are under way, to complete its requests.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
