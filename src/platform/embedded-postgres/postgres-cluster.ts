import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { chown, lchown, link, mkdir, open, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { draftName, removeAbandonedDrafts } from './drafts.js';
import { findBinaries } from './postgres-binaries.js';
import { findServiceFolder, mayEnter, runAs, serverUser, type ServerUser } from './postgres-user.js';

/** An initialised database cluster, with everything that is needed to run a server on it. */
export interface Cluster {
  /** The real path of the service's data folder. */
  readonly dataDir: string;
  /** The real path of PostgreSQL's own data folder: `<dataDir>/postgres` or, if that is a symbolic link, its target. */
  readonly folder: string;
  readonly user: ServerUser | undefined;
  readonly major: number;
  /** The password of the `postgres` superuser. */
  readonly secret: string;
  readonly logFile: string;
}

/** Folders whose contents survive a reboot and the cleanup of temporary files. */
const PERMANENT_BASES = ['/var/lib', '/usr/local/var', '/opt', '/srv'];

/** Opens the database cluster of the data folder. Creates the folder and the cluster if they are missing. */
export async function openCluster(requestedDataDir: string, log: (message: string) => void): Promise<Cluster> {
  await mkdir(requestedDataDir, { recursive: true });
  const dataDir = realpathSync(requestedDataDir);
  await removeAbandonedDrafts(dataDir, 'postgres');
  const place = join(dataDir, 'postgres');
  const isNew = !existsSync(join(place, 'PG_VERSION'));
  if (isNew && isSymbolicLink(place)) {
    throw new Error(
      `The database that ${place} leads to does not exist. Restore it, or remove the link to begin with an empty database.`,
    );
  }
  const secret = isNew ? await keepSecret(dataDir) : readSecret(dataDir);
  if (isNew) {
    log('creating a new database cluster');
    await makeCluster(dataDir, place, secret);
  }
  const folder = realpathSync(place);
  const user = serverUser(statSync(folder));
  if (user && statSync(folder).uid !== user.uid) await chownTree(folder, user);
  if (!mayEnter(dirname(folder), user)) {
    throw new Error(
      `The user of the PostgreSQL server (uid ${user?.uid}) may not enter ${dirname(folder)}: move the data folder.`,
    );
  }
  const major = Number(readFileSync(join(folder, 'PG_VERSION'), 'utf8'));
  return { dataDir, folder, user, major, secret, logFile: join(dataDir, 'postgres.log') };
}

/**
 * Creates the database cluster under a temporary name and then renames it. The remains of a killed initdb are therefore
 * never mistaken for a cluster.
 */
async function makeCluster(dataDir: string, place: string, secret: string): Promise<void> {
  const user = serverUser();
  const home = clusterHome(dataDir, user);
  if (home.folder !== dataDir) await removeAbandonedDrafts(home.folder, home.name);
  const draft = join(home.folder, draftName(home.name));
  try {
    await initialise(draft, user, dataDir, secret);
    await (home.folder === dataDir ? rename(join(draft, 'cluster'), place) : publishElsewhere(draft, place));
    // The data folder and the folder that contains the cluster are synced, because the names of the new files must
    // survive a power failure, too.
    await Promise.all([syncFolder(home.folder), syncFolder(dataDir)]);
  } catch (error) {
    // Another process that started at the same moment may have created the cluster first. That cluster is then used.
    if (!existsSync(join(place, 'PG_VERSION'))) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Moves the cluster to its place outside the data folder, and creates the symbolic link to it last. A link without a
 * target therefore shows that the database was lost.
 */
async function publishElsewhere(draft: string, place: string): Promise<void> {
  const target = draft.replace('.draft', '');
  await rename(join(draft, 'cluster'), target);
  try {
    await symlink(target, place);
  } catch (error) {
    await rm(target, { recursive: true });
    throw error;
  }
}

/**
 * Returns the folder and the name for the database cluster. The cluster is in the data folder or, if the server's user
 * may not enter the data folder, in a folder of the service elsewhere. If the cluster is elsewhere, its name contains a
 * hash of the data folder's path, so that people can recognize the cluster. The name also contains a random part,
 * because the data folder may be moved.
 */
function clusterHome(dataDir: string, user: ServerUser | undefined): { folder: string; name: string } {
  if (mayEnter(dataDir, user)) return { folder: dataDir, name: 'postgres' };
  const folder = findServiceFolder(PERMANENT_BASES, user);
  if (!folder) {
    throw new Error(
      `PostgreSQL runs as uid ${user?.uid}, which may not enter ${dataDir}, and no other place for the database ` +
        `(${PERMANENT_BASES.join(', ')}) is writable: choose another data folder.`,
    );
  }
  return { folder, name: createHash('sha256').update(dataDir).digest('hex').slice(0, 16) };
}

async function initialise(draft: string, user: ServerUser | undefined, dataDir: string, secret: string): Promise<void> {
  const [passwordFile, folder] = [join(draft, 'password'), join(draft, 'cluster')];
  const { initdb } = await findBinaries(user, dataDir);
  await mkdir(draft, { mode: 0o700 });
  await writeFile(passwordFile, secret, { mode: 0o600 });
  if (user) for (const path of [passwordFile, draft]) await chown(path, user.uid, user.gid);
  const identity = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
  const options = ['--locale=C', '-E', 'UTF8', '--no-instructions', `--pgdata=${folder}`];
  await promisify(execFile)(initdb, [...identity, ...options], { ...runAs(user), cwd: draft });
}

/**
 * Writes and syncs the password file under a temporary name, and then links it to its final name. Every process
 * therefore reads the same, complete password.
 */
async function keepSecret(dataDir: string): Promise<string> {
  const draft = join(dataDir, draftName('postgres.secret'));
  const file = await open(draft, 'wx', 0o600);
  await file.writeFile(randomBytes(32).toString('hex'));
  await file.sync();
  await file.close();
  try {
    await link(draft, join(dataDir, 'postgres.secret'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft);
  }
  return readSecret(dataDir);
}

function readSecret(dataDir: string): string {
  const file = join(dataDir, 'postgres.secret');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(`The password of the embedded database cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function isSymbolicLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/**
 * Changes the owner of a folder and of its contents. The folder itself is changed last, so that the next start resumes
 * an interrupted change.
 */
async function chownTree(folder: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? chownTree(path, user) : lchown(path, user.uid, user.gid));
  }
  await chown(folder, user.uid, user.gid);
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder in order to sync it.
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
