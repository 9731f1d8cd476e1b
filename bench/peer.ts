/**
 * Runs graphile-worker for the comparison. It is tuned for throughput as its manual advises: a local queue and batched
 * completion. Its jobs send bare PUTs with the fastest HTTP client available, without a signature, a log of attempts or
 * a guaranteed order.
 */
import { Logger, run, type Runner } from 'graphile-worker';
import { Pool } from 'undici';
import { endWithOrchestrator, programOptions, tell } from './program.js';

export interface PeerOptions {
  databaseUrl: string;
  receiverUrl: string;
  caPem: string;
  /** The number of parallel requests to partners. */
  concurrency: number;
}

function start({ databaseUrl, receiverUrl, caPem, concurrency }: PeerOptions): Promise<Runner> {
  const pool = new Pool(receiverUrl, { connections: concurrency, connect: { ca: caPem } });
  const put = async (payload: unknown) => {
    const answer = await pool.request({
      method: 'PUT',
      path: '/notifications',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}.`);
  };
  return run({
    connectionString: databaseUrl,
    noHandleSignals: true,
    // Logging is off, because a log line for each job would take more time than the job.
    logger: new Logger(() => () => undefined),
    taskList: { put },
    preset: {
      worker: {
        concurrentJobs: concurrency,
        maxPoolSize: 10,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
}

async function main(options: PeerOptions): Promise<void> {
  // The first run creates the tables of graphile-worker.
  await (await start(options)).stop();
  let runner: Runner | null = null;
  const change = async (go: boolean) => {
    if (go) runner = await start(options);
    else await runner?.stop();
  };
  process.on('message', ({ go }: { go: boolean }) => {
    change(go).then(
      () => tell({ going: go }),
      (error: unknown) => tell({ error: String(error) }),
    );
  });
  tell({ ready: {} });
}

endWithOrchestrator();
main(programOptions<PeerOptions>()).catch((error: unknown) => tell({ error: String(error) }));
