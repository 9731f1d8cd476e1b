import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** The operating-system user as which the PostgreSQL server runs; undefined means the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

const SERVICE_FOLDER = 'candidate-eligibility-service';

/**
 * Chooses the operating-system user for the server, because PostgreSQL refuses to run as root. The chosen user is the
 * owner of an existing cluster, or otherwise `postgres` or `nobody`.
 */
export function serverUser(clusterOwner?: ServerUser): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (clusterOwner && clusterOwner.uid !== 0) return clusterOwner;
  const user = systemUser('postgres') ?? systemUser('nobody');
  if (!user) throw new Error('PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody".');
  return user;
}

/**
 * Returns the options of `spawn` that run a program as the given user. The program's environment contains only the
 * listed variables, so that the server gets no secret.
 */
export function runAs(user: ServerUser | undefined): { uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
  const { PATH, SystemRoot, TEMP, TMP } = process.env;
  return {
    ...(user && { uid: user.uid, gid: user.gid }),
    env: { PATH, SystemRoot, TEMP, TMP, LC_ALL: 'C', TZ: 'UTC' },
  };
}

/** Returns whether the user may enter the folder and every folder above it. */
export function mayEnter(folder: string, user: ServerUser | undefined): boolean {
  if (!user) return true;
  let current = realpathSync(folder);
  while (may(user, statSync(current), constants.X_OK)) {
    if (dirname(current) === current) return true;
    current = dirname(current);
  }
  return false;
}

/** Returns whether the user may read and execute the file. */
export function mayExecute(file: string, user: ServerUser | undefined): boolean {
  return !user || (mayEnter(dirname(file), user) && may(user, statSync(file), constants.R_OK | constants.X_OK));
}

/**
 * Returns a folder for the service in the first suitable base folder. The server's user may enter the returned folder,
 * and only this process's user may write to it.
 */
export function findServiceFolder(bases: string[], user: ServerUser | undefined): string | undefined {
  return bases.map((base) => join(base, SERVICE_FOLDER)).find((folder) => canUse(folder, user));
}

function canUse(folder: string, user: ServerUser | undefined): boolean {
  try {
    try {
      mkdirSync(folder);
      // Only this process's user may write to the folder. The mode is set explicitly, because a strict umask would
      // exclude the server's user.
      chmodSync(folder, 0o755);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    }
    accessSync(folder, constants.W_OK);
    // If the folder existed before, an attacker may have created it, for example in /tmp. The owner and the mode of the
    // folder are therefore checked.
    const found = lstatSync(folder);
    const isOurs = found.isDirectory() && found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o022) === 0;
    return isOurs && mayEnter(folder, user);
  } catch {
    return false;
  }
}

function may(user: ServerUser, { uid, gid, mode }: Stats, wanted: number): boolean {
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
}

function systemUser(name: string): ServerUser | undefined {
  const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}
