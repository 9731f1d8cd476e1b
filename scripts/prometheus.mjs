import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** `prometheus` and `promtool`: those on the machine, else Debian's, unpacked into the folder. */
export function findPrometheus(folder) {
  const isThere = (program) => spawnSync(program, ['--version']).status === 0;
  if (isThere('promtool') && isThere('prometheus')) return { promtool: 'promtool', prometheus: 'prometheus' };
  const run = (command, ...rest) =>
    execFileSync(command, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  run('apt-get', 'update', '-qq');
  run('apt-get', 'download', '-qq', 'prometheus');
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
  run('dpkg-deb', '-x', archive, '.');
  return { promtool: join(folder, 'usr/bin/promtool'), prometheus: join(folder, 'usr/bin/prometheus') };
}
