/** Sends only the PUTs of a backlog, without a database or a job: the upper bound for programs with a database. */
import { BarePut, PEER_CONCURRENCY, type PeerOptions } from './peer.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

/** The body is as large as a notification of the backlog. */
const BODY = JSON.stringify({ booking_code: 'B000000000', candidate_id: 'seeded-1', padding: 'x'.repeat(480) });
const client = new BarePut(programOptions<PeerOptions>());

async function send(count: number): Promise<void> {
  let left = count;
  const sender = async () => {
    while (left-- > 0) await client.send(BODY);
  };
  await Promise.all(Array.from({ length: PEER_CONCURRENCY }, sender));
}

endWithOrchestrator();
process.on('message', ({ count }: { count: number }) => {
  tell({ sending: count });
  send(count).catch((error: unknown) => tell({ error: String(error) }));
});
tell({ ready: {} });
