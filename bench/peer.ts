import { Pool } from 'undici';
import { tell } from './program.js';

/** The number of parallel requests, equal to the service's concurrency for the partners of the benchmark. */
export const PEER_CONCURRENCY = 48;

export interface PeerOptions {
  databaseUrl: string;
  receiverUrl: string;
  caPem: string;
}

/** Sends the PUT of a peer's job without signature, log or order, over the fastest client available. */
export class BarePut {
  private readonly pool: Pool;

  constructor({ receiverUrl, caPem }: PeerOptions) {
    this.pool = new Pool(receiverUrl, { connections: PEER_CONCURRENCY, connect: { ca: caPem } });
  }

  async send(body: string): Promise<void> {
    const answer = await this.pool.request({
      method: 'PUT',
      path: '/notifications',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}.`);
  }
}

/** Calls the callbacks when the orchestrator starts or stops the work, and reports their completion to it. */
export function onGo(change: (go: boolean) => Promise<void>): void {
  process.on('message', ({ go }: { go: boolean }) => {
    change(go).then(
      () => tell({ going: go }),
      (error: unknown) => tell({ error: String(error) }),
    );
  });
}
