import { setTimeout as pause } from 'node:timers/promises';

interface Entry {
  readonly id: string;
  readonly change: string;
  readonly svc_eligiblity_id: string;
  readonly booking_code: string | null;
}

/** The differences between the change feed and the expected entries. */
export interface FeedFaults {
  /** The number of acknowledged changes that are in no page of the feed. */
  readonly missing: number;
  /** The number of entries that a read from the beginning returns, but the follower's pages lack. */
  readonly skipped: number;
  /** The number of entries that the follower's pages contain, but a read from the beginning lacks. */
  readonly vanished: number;
  readonly twice: number;
  readonly expired: number;
}

/** A client that follows an account's change feed while the failures occur. */
export class FeedFollower {
  /**
   * The number of times that the service refused the client's cursor. Each time, the client started again from the
   * beginning.
   */
  expired = 0;
  private seen: Entry[] = [];
  private following = false;
  private done = Promise.resolve();

  private constructor(
    private readonly baseUrl: string,
    private readonly account: string,
    private readonly token: string,
    private next: string,
  ) {
    this.goOn();
  }

  static async start(baseUrl: string, account: string, token: string): Promise<FeedFollower> {
    const { next } = await page(`${baseUrl}/accounts/${account}/changes?after=now`, token);
    return new FeedFollower(baseUrl, account, token, next);
  }

  /** Stops reading the change feed, and keeps the cursor for the next read. */
  async rest(): Promise<void> {
    this.following = false;
    await this.done;
  }

  goOn(): void {
    this.following = true;
    this.done = this.follow();
  }

  /**
   * Reads the feed to its end, and then once more from the beginning. Compares the entries of both reads with each
   * other and with the expected changes.
   */
  async judge(eligibilities: ReadonlySet<string>, bookings: ReadonlyMap<string, number>): Promise<FeedFaults> {
    await this.rest();
    const all: Entry[] = [];
    let next = this.beginning;
    for (let entries: Entry[] | null = null; entries === null || entries.length > 0; all.push(...entries))
      ({ entries, next } = await page(next, this.token));
    const created = new Set(all.filter(({ change }) => change === 'CREATED').map((entry) => entry.svc_eligiblity_id));
    let missing = [...eligibilities].filter((id) => !created.has(id)).length;
    for (const [booking, changes] of bookings)
      missing += Math.max(0, changes - all.filter(({ booking_code }) => booking_code === booking).length);
    const [followed, whole] = [this.seen, all].map((entries) => new Set(entries.map(({ id }) => id)));
    const [skipped, vanished] = [except(whole, followed), except(followed, whole)];
    const twice = this.seen.length - followed.size + all.length - whole.size;
    return { missing, skipped, vanished, twice, expired: this.expired };
  }

  private get beginning(): string {
    return `${this.baseUrl}/accounts/${this.account}/changes?limit=200`;
  }

  private async follow(): Promise<void> {
    for (;;) {
      const last = !this.following;
      try {
        const { entries, next } = await page(this.next, this.token);
        this.seen.push(...entries);
        this.next = next;
        if (last && entries.length === 0) return;
        if (entries.length === 0) await pause(200);
      } catch (error) {
        if (error instanceof ExpiredCursor) {
          this.expired += 1;
          this.seen = [];
          this.next = this.beginning;
        }
        // If a request for a page fails, the client repeats the request after a pause.
        await pause(200);
      }
    }
  }
}

class ExpiredCursor extends Error {}

function except(some: ReadonlySet<string>, others: ReadonlySet<string>): number {
  return [...some].filter((id) => !others.has(id)).length;
}

async function page(url: string, token: string): Promise<{ entries: Entry[]; next: string }> {
  const answer = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(10_000),
  });
  if (answer.status === 410) throw new ExpiredCursor();
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const next = /<([^>]+)>; *rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  if (next === undefined) throw new Error('The feed has no next page.');
  return { entries: (await answer.json()) as Entry[], next: new URL(next, url).href };
}
