import { Pool } from 'undici';
import { tell } from './program.js';

/** Attempts at once: as many as the service has for the partners of the benchmark. */
export const PEER_CONCURRENCY = 48;

export interface PeerOptions {
  databaseUrl: string;
  receiverUrl: string;
  caPem: string;
}

/** The bare PUT of a peer's job: no signature, no log, no order, over the fastest client there is. */
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

/** Calls back when the orchestrator wants the work to begin, or to have ended, and says when that is so. */
export function onGo(change: (go: boolean) => Promise<void>): void {
  process.on('message', ({ go }: { go: boolean }) => {
    change(go).then(
      () => tell({ going: go }),
      (error: unknown) => tell({ error: String(error) }),
    );
  });
}
