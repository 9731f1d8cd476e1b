import type { Response } from 'express';
import { requestContext, type RequestContext } from '../context/request-context.js';
import { rateLimited } from '../errors.js';

/**
 * The share of a process's time that the large reads of one account get while other accounts send requests. For the
 * rest of the time, the account's reads wait.
 */
const SHARE = 1 / 4;
/** The maximum credit of an account that has not read for some time, and the maximum debt, in milliseconds. */
const MOST_CREDIT_MS = 250;
const MOST_DEBT_MS = 250;
/**
 * The number of large reads of an account that may run at the same time. With two reads, the process can build the
 * response of one while the database executes the other.
 */
const AT_ONCE = 2;
/**
 * The time, in milliseconds, for which a request of a different caller still counts as concurrent with a large read.
 */
const BESIDE_MS = 1_000;
/** The interval, in milliseconds, at which a waiting read checks whether other callers still send requests. */
const MAX_REST_MS = 100;
const MOST_WAIT_MS = 8_000;
const MOST_REMEMBERED = 1_000;

interface Reader {
  /**
   * The credit of the account: the time, in milliseconds, for which the account may still read. If the credit is
   * negative, the account's reads wait.
   */
  credit: number;
  /** The time at which the credit was computed, as measured by `performance.now()`. */
  at: number;
  underWay: number;
  readonly waiting: Set<ReadTurn>;
  timer: NodeJS.Timeout | undefined;
}

/** A large read. It begins when `ready` resolves, or immediately if `ready` is null. Call `end` when it has ended. */
export class ReadTurn {
  readonly ready: Promise<void> | null = null;
  private begunAt: number | null = null;
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private enter: () => void = () => undefined;
  private refuse: () => void = () => undefined;

  /** @internal Creates a large read. Only {@link ReadShare} calls the constructor. */
  constructor(
    private readonly share: ReadShare,
    private readonly reader: Reader,
    private readonly name: string,
    mayBegin: boolean,
    waitMs: number,
  ) {
    if (mayBegin) {
      this.begin();
      return;
    }
    this.ready = new Promise((resolve, reject) => {
      this.enter = resolve;
      this.refuse = () => reject(tooMuch());
    });
    if (waitMs !== Infinity) this.timer = setTimeout(() => this.end(), waitMs);
    reader.waiting.add(this);
  }

  /** @internal Begins the read. */
  begin(): void {
    clearTimeout(this.timer);
    this.begunAt = performance.now();
    this.reader.underWay++;
    this.enter();
  }

  /**
   * Ends the read, and charges its duration to the account. Only the first call has an effect. A read that is still
   * waiting is refused.
   */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.timer);
    if (this.begunAt === null) {
      this.reader.waiting.delete(this);
      this.refuse();
    } else {
      this.reader.underWay--;
      this.share.charge(this.name, performance.now() - this.begunAt);
    }
  }
}

/**
 * Limits the time of each account's large reads: lists, feeds, exports. Reads by key do not count.
 *
 * 1. After each read, its duration in the database and in the process is charged to its account.
 * 2. While other callers send requests, an account's reads run one after another. Between two reads the account pauses,
 *    so that its reads get a quarter of the time. An account that reads rarely has credit and does not pause.
 * 3. While no other account sends requests, an account does not pause. At most two reads of an account run at once, so
 *    that a request of another account that arrives meanwhile waits only briefly.
 * 4. The reads of an account only wait for other reads of the same account. A request that waits too long is refused
 *    with 429.
 * 5. A streamed response waits for a slot before each chunk, so a slow client occupies no slot between two chunks.
 */
export class ReadShare {
  private readonly readers = new Map<string, Reader>();
  private last = { name: '', at: -Infinity };
  /** The newest request of any caller other than the caller of the request in `last`. */
  private other = this.last;

  /** Records a request of a caller to any route. After the request, large reads of other accounts pause. */
  noteRequest(name: string): void {
    const at = performance.now();
    if (name === this.last.name) {
      this.last.at = at;
      return;
    }
    this.other = this.last;
    this.last = { name, at };
  }

  begin(name: string, waitMs: number = MOST_WAIT_MS): ReadTurn {
    const reader = this.readerOf(name);
    const mayBegin = reader.waiting.size === 0 && this.mayBegin(name, reader);
    const turn = new ReadTurn(this, reader, name, mayBegin, waitMs);
    if (!mayBegin) this.serve(name, reader);
    return turn;
  }

  /** @internal Charges the duration of a read to its account. */
  charge(name: string, workMs: number): void {
    const reader = this.readerOf(name);
    refill(reader);
    reader.credit = Math.max(reader.credit - workMs, -MOST_DEBT_MS);
    this.serve(name, reader);
  }

  private serve(name: string, reader: Reader): void {
    for (const turn of reader.waiting) {
      if (!this.mayBegin(name, reader)) break;
      reader.waiting.delete(turn);
      turn.begin();
    }
    // If a large read of the account is running, the account's next read starts when that read ends.
    if (reader.waiting.size === 0 || reader.underWay > 0 || reader.timer !== undefined) return;
    const restMs = Math.min(Math.max(-reader.credit / SHARE, 1), MAX_REST_MS);
    reader.timer = setTimeout(() => {
      reader.timer = undefined;
      this.serve(name, reader);
    }, restMs);
  }

  private mayBegin(name: string, reader: Reader): boolean {
    if (!this.othersCall(name)) return reader.underWay < AT_ONCE;
    refill(reader);
    return reader.underWay === 0 && reader.credit >= 0;
  }

  private othersCall(name: string): boolean {
    const { at } = this.last.name === name ? this.other : this.last;
    return performance.now() - at < BESIDE_MS;
  }

  private readerOf(name: string): Reader {
    let reader = this.readers.get(name);
    if (reader) return reader;
    if (this.readers.size >= MOST_REMEMBERED) this.forgetRested();
    reader = { credit: MOST_CREDIT_MS, at: performance.now(), underWay: 0, waiting: new Set(), timer: undefined };
    this.readers.set(name, reader);
    return reader;
  }

  private forgetRested(): void {
    for (const [name, reader] of this.readers) {
      refill(reader);
      if (reader.credit === MOST_CREDIT_MS && reader.underWay === 0 && reader.waiting.size === 0)
        this.readers.delete(name);
    }
  }
}

function refill(reader: Reader): void {
  const now = performance.now();
  reader.credit = Math.min(reader.credit + (now - reader.at) * SHARE, MOST_CREDIT_MS);
  reader.at = now;
}

/**
 * The ReadShare of this process. A process has only one ReadShare, because all accounts share the time of the process.
 */
const share = new ReadShare();
const turns = new WeakMap<Response, ReadTurn>();

/**
 * Returns the name under which a read is charged. All users and applications of a client share the name of their
 * account. For an operator, the name is the user name.
 */
function readerName({ caller, accountCode }: RequestContext): string {
  if (accountCode !== null && caller?.accountCodes.has(accountCode)) return accountCode;
  return `${caller?.consumerKey} ${caller?.username}`;
}

/** Records a request of an authenticated caller, for which the large reads of other callers may have to wait. */
export function heardCaller(): void {
  share.noteRequest(readerName(requestContext()));
}

/**
 * Waits for a slot before a large response is built. The slot is released when the response has been built
 * ({@link answered}), or when the client disconnects.
 * @throws DomainError rate_limited (in the promise)
 */
export function takeReadTurn(response: Response): true | Promise<true> {
  // A client that has already disconnected gets no slot, because no `close` event would follow to release the slot.
  if (response.destroyed) return true;
  const turn = share.begin(readerName(requestContext()));
  turns.set(response, turn);
  response.once('close', () => turn.end());
  return turn.ready === null ? true : turn.ready.then(() => true as const);
}

/**
 * Releases the slot when the response is built, or when its streaming begins. The time that the client takes to read
 * the response is not charged.
 */
export function answered(response: Response): void {
  turns.get(response)?.end();
}

/** Yields the same chunks as `pieces`, but waits for a slot before each chunk. */
export async function* sharingReads<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
  const name = readerName(requestContext());
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    for (;;) {
      const turn = share.begin(name, Infinity);
      let next: IteratorResult<Piece>;
      try {
        await turn.ready;
        next = await iterator.next();
      } finally {
        turn.end();
      }
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}

function tooMuch(): Error {
  return rateLimited.error({
    detail:
      'Too many large responses were requested at the same time. Wait for each response before you send the next request.',
    headers: { 'Retry-After': '1' },
  });
}
