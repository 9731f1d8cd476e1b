import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Lists the files that `COPY . .` copies in the Dockerfile: those files of the repository that .dockerignore allows.
 */
export function contextFiles(root) {
  const [first, ...allowed] = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n');
  if (first !== '*') throw new Error('.dockerignore does not begin with *.');
  const patterns = allowed.map((line) => {
    const text = line.slice(1).replaceAll('.', '\\.').replaceAll('*', '[^/]*');
    return new RegExp(`^${text}(/|$)`);
  });
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  return files
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .filter((file) => patterns.some((pattern) => pattern.test(file)));
}
