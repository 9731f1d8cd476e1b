import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Returns whether the process with the given pid is running. A zombie does not count as running. */
export function isAlive(pid: number): boolean {
  if (process.platform !== 'linux') return processExists(pid);
  const { state } = linuxProcess(pid);
  return state !== undefined && state !== 'Z' && state !== 'X';
}

export function linuxProcess(pid: number): { name?: string; state?: string } {
  const [, name, state] = /^\d+ \((.*)\) (.)/s.exec(readIfThere(`/proc/${pid}/stat`) ?? '') ?? [];
  return { name, state };
}

export function commandLine(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString();
  } catch {
    return '';
  }
}

export function processExists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the text of a file, which may be in `/proc`; undefined if the file does not exist. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // The error ESRCH means that a process ended while its file in /proc was being read.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
