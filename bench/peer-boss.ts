/**
 * Measures pg-boss without its polling worker, which would be the bottleneck: fetch a batch, PUT all of it, complete
 * all of it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { BarePut, onGo, PEER_CONCURRENCY, type PeerOptions } from './peer.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

const BATCH = 200;
const IDLE_MS = 5;
const LOOPS = 2;

async function main(options: PeerOptions): Promise<void> {
  const client = new BarePut(options);
  const boss = new PgBoss({ connectionString: options.databaseUrl, max: 10 });
  boss.on('error', (error) => tell({ error: String(error) }));
  await boss.start();
  await boss.createQueue('put');
  let going = false;
  let loops: Promise<void>[] = [];
  onGo(async (go) => {
    going = go;
    // Two loops run in parallel, so that one can send while the other completes and fetches jobs.
    if (go) loops = Array.from({ length: LOOPS }, () => loop(boss, client, () => going));
    else await Promise.all(loops);
  });
  tell({ ready: {} });
}

async function loop(boss: PgBoss, client: BarePut, isGoing: () => boolean): Promise<void> {
  while (isGoing()) {
    const jobs = await boss.fetch<object>('put', { batchSize: BATCH });
    if (jobs.length === 0) {
      await sleep(IDLE_MS);
      continue;
    }
    const waiting = jobs.values();
    const sender = async () => {
      for (const job of waiting) await client.send(JSON.stringify(job.data));
    };
    await Promise.all(Array.from({ length: PEER_CONCURRENCY / LOOPS }, sender));
    await boss.complete(
      'put',
      jobs.map((job) => job.id),
    );
  }
}

endWithOrchestrator();
main(programOptions<PeerOptions>()).catch((error: unknown) => tell({ error: String(error) }));
