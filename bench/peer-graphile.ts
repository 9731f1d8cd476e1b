/** Measures graphile-worker, tuned for throughput as its manual advises: a local queue and batched completion. */
import { Logger, run, type Runner } from 'graphile-worker';
import { BarePut, onGo, PEER_CONCURRENCY, type PeerOptions } from './peer.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

function start(options: PeerOptions, client: BarePut): Promise<Runner> {
  return run({
    connectionString: options.databaseUrl,
    noHandleSignals: true,
    // Logging is off, because a log line for each job would take more time than the job.
    logger: new Logger(() => () => undefined),
    taskList: { put: (payload) => client.send(JSON.stringify(payload)) },
    preset: {
      worker: {
        concurrentJobs: PEER_CONCURRENCY,
        maxPoolSize: 10,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
}

async function main(options: PeerOptions): Promise<void> {
  const client = new BarePut(options);
  // This first run creates the tables of graphile-worker.
  await (await start(options, client)).stop();
  let runner: Runner | null = null;
  onGo(async (go) => {
    if (go) runner = await start(options, client);
    else await runner?.stop();
  });
  tell({ ready: {} });
}

endWithOrchestrator();
main(programOptions<PeerOptions>()).catch((error: unknown) => tell({ error: String(error) }));
