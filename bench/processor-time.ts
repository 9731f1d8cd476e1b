import { readdirSync, readFileSync } from 'node:fs';

/**
 * The number of ticks per second in which the kernel counts processor time (`getconf CLK_TCK`). The number is the same
 * on every Linux system.
 */
const TICKS_A_SECOND = 100;

interface Stat {
  parent: number;
  ticks: number;
}

/**
 * Reads `/proc/<pid>/stat`. The name of the process may contain any character, and ends at the last closing bracket.
 */
function statOf(pid: string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // The sum contains the fields utime and stime, and the same fields for children that have ended.
    return { parent: Number(fields[1]), ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) };
  } catch {
    return null;
  }
}

/** Returns the processor time in seconds of a process and its children, on Linux. */
export function processorSeconds(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat !== null && (Number(name) === pid || stat.parent === pid)) ticks += stat.ticks;
  }
  return ticks / TICKS_A_SECOND;
}

/**
 * Runs `work`, and measures the processor time, in seconds, that each named group of processes uses until `work` ends.
 * The children of these processes are included.
 */
export async function withProcessorTime<Name extends string, T>(
  pids: Readonly<Record<Name, readonly number[]>>,
  work: () => Promise<T>,
): Promise<[T, Record<Name, number>]> {
  const seconds = () =>
    Object.entries<readonly number[]>(pids).map(
      ([name, list]) => [name, list.reduce((sum, pid) => sum + processorSeconds(pid), 0)] as const,
    );
  const before = Object.fromEntries(seconds());
  const done = await work();
  const used = seconds().map(([name, after]) => [name, after - before[name]]);
  return [done, Object.fromEntries(used) as Record<Name, number>];
}

/** Returns the resident memory of a process in MiB, read from /proc (Linux). */
export function residentMiB(pid: number): number {
  return memoryMiB(pid, 'VmRSS');
}

/** Returns the peak resident memory of a process in MiB. */
export function peakResidentMiB(pid: number): number {
  return memoryMiB(pid, 'VmHWM');
}

function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(status)![1]) / 1024;
}
