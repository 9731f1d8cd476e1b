import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';
import { postmasterOf } from '../test/support/postmaster.js';

/** The settings of PostgreSQL that the report prints together with the figures. */
const TOLD_SETTINGS = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers'] as const;

/**
 * A separate PostgreSQL in a temporary folder, with a list of everything that must be stopped and deleted at the end.
 */
export class Stage {
  private readonly ends: (() => Promise<void>)[] = [];

  private constructor(
    readonly folder: string,
    private readonly postgres: EmbeddedPostgres,
  ) {}

  /**
   * Starts PostgreSQL in a temporary folder.
   * @param settings settings of PostgreSQL, in addition to the settings that the service needs
   */
  static async open(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'eligibility-bench-'));
    // PostgreSQL may run as a different user. This user needs access to the folder.
    chmodSync(folder, 0o755);
    const postgres = await startEmbeddedPostgres({
      dataDir: folder,
      database: 'bench',
      // The delay of a notification is measured from the time of the booking's commit.
      settings: { track_commit_timestamp: 'on', ...settings },
    });
    return new Stage(folder, postgres);
  }

  /** Returns the pid of PostgreSQL's main process, whose children serve the connections. */
  postmaster(): Promise<number> {
    return this.withDatabase('bench', postmasterOf);
  }

  get log(): string {
    return join(this.folder, 'programs.log');
  }

  /** Registers a function that stops a program that a section of the benchmark has started. */
  onClear(end: () => Promise<void>): void {
    this.ends.push(end);
  }

  /**
   * Stops the programs of a section, the last one first. Drops the databases of the section, so that they do not slow
   * the next section.
   */
  async clear(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }

  async settings(): Promise<Record<string, string>> {
    return this.withDatabase('bench', async (client) => {
      const settings: Record<string, string> = {};
      for (const name of TOLD_SETTINGS)
        settings[name] = (await client.query<Record<string, string>>(`SHOW ${name}`)).rows[0][name];
      if (settings['fsync'] !== 'on' || settings['synchronous_commit'] !== 'on')
        throw new Error('Durability is switched off: nothing that is measured here would count.');
      return settings;
    });
  }

  /** Creates an empty database and returns its URL. */
  async createDatabase(name: string): Promise<string> {
    await this.withDatabase('bench', (client) => client.query(`CREATE DATABASE ${name}`));
    this.onClear(() =>
      this.withDatabase('bench', async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
    );
    return this.urlOf(name);
  }

  async withDatabase<T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.urlOf(name) });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /**
   * Writes all pending data to disk before a measurement, so that PostgreSQL does not write it during the measurement.
   */
  async settle(name: string): Promise<void> {
    await this.withDatabase(name, async (client) => {
      await client.query('VACUUM (ANALYZE)');
      await client.query('CHECKPOINT');
    });
  }

  /**
   * Reads all tables and indexes into PostgreSQL's memory, as far as they fit. On a server in use, they would also be
   * in memory.
   */
  async warm(name: string): Promise<void> {
    await this.withDatabase(name, async (client) => {
      await client.query('CREATE EXTENSION IF NOT EXISTS pg_prewarm');
      await client.query(
        `SELECT pg_prewarm(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')`,
      );
    });
  }

  async close(): Promise<void> {
    await this.clear();
    await this.postgres.stop();
    removeDataFolder(this.folder);
  }

  private urlOf(name: string): string {
    const url = new URL(this.postgres.url);
    url.pathname = name;
    return url.href;
  }
}

/**
 * Deletes a data folder and its PostgreSQL cluster. The cluster may be in another folder that is linked into the data
 * folder.
 */
export function removeDataFolder(folder: string): void {
  rmSync(realpathSync(join(folder, 'postgres')), { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}
