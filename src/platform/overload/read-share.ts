import type { Response } from 'express';
import { requestContext, type RequestContext } from '../context/request-context.js';
import { rateLimited } from '../errors.js';

/** Of a process' time, for the large reads of one account while others call; the rest of the time is rest. */
const SHARE = 1 / 4;
/** So much an account may read without a rest that has not read for a while, and so much is it in debt at most. */
const MOST_CREDIT_MS = 250;
const MOST_DEBT_MS = 250;
/** Large reads of one account at the same time: while the database does one, the process makes the answer of the other. */
const AT_ONCE = 2;
/** A caller within this time counts as beside the read. */
const BESIDE_MS = 1_000;
/** How long a turn waits before it looks again whether others still call. */
const LOOK_MS = 100;
const MOST_WAIT_MS = 8_000;
const MOST_REMEMBERED = 1_000;

interface Reader {
  /** Milliseconds that may be read; below 0 the account rests. */
  credit: number;
  /** When the credit was counted, by `performance.now()`. */
  at: number;
  underWay: number;
  readonly waiting: Set<ReadTurn>;
  timer: NodeJS.Timeout | undefined;
}

/** A large read: it begins when `ready` has resolved, at once where that is null, and must `end`. */
export class ReadTurn {
  readonly ready: Promise<void> | null = null;
  private begunAt: number | null = null;
  private isOver = false;
  private timer: NodeJS.Timeout | undefined;
  private enter: () => void = () => undefined;
  private refuse: () => void = () => undefined;

  /** @internal */
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

  /** @internal */
  begin(): void {
    clearTimeout(this.timer);
    this.begunAt = performance.now();
    this.reader.underWay++;
    this.enter();
  }

  /** Charges the time that the read took; one that still waits is refused. Once. */
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
 * Bounds the time that the large reads of one account take: lists, feeds, exports. Reads by key are none of them.
 *
 * 1. Each read is charged to its account, once it has been made, with the time that it took: in the database and in the process.
 * 2. While others call, the reads of an account are made one after another, and the account rests between them so long that it
 *    takes a quarter of the time, and no more. An account that reads now and then has credit, and does not rest.
 * 3. While nobody else calls, it does not rest. Two reads are under way, so that whoever comes next waits for no crowd.
 * 4. Accounts do not wait for each other. A request that waits too long is refused: 429.
 * 5. An answer that is made as it is taken has a turn for each piece: a caller who is slow holds none.
 */
export class ReadShare {
  private readonly readers = new Map<string, Reader>();
  private last = { name: '', at: -Infinity };
  /** The last of those who are not the last. */
  private other = this.last;

  /** Somebody has called, for whatever it was. */
  heard(name: string): void {
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

  /** @internal */
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
    // The running read serves the next one.
    if (reader.waiting.size === 0 || reader.underWay > 0 || reader.timer !== undefined) return;
    const restMs = Math.min(Math.max(-reader.credit / SHARE, 1), LOOK_MS);
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

/** Of this process: its time is what accounts share. */
const share = new ReadShare();
const turns = new WeakMap<Response, ReadTurn>();

/** Of a client's call the account, whatever the number of its users and applications; of an operator's, who it is. */
function readerName({ caller, accountCode }: RequestContext): string {
  if (accountCode !== null && caller?.accountCodes.has(accountCode)) return accountCode;
  return `${caller?.consumerKey} ${caller?.username}`;
}

/** Called for every request whose caller is known. */
export function heardCaller(): void {
  share.heard(readerName(requestContext()));
}

/**
 * Before a large answer is made. The turn ends when it is {@link answered}, or when the caller goes away.
 * @throws DomainError rate_limited (in the promise)
 */
export function takeReadTurn(response: Response): true | Promise<true> {
  // A caller that is already gone reports nothing more, and would hold the turn for ever.
  if (response.destroyed) return true;
  const turn = share.begin(readerName(requestContext()));
  turns.set(response, turn);
  response.once('close', () => turn.end());
  return turn.ready === null ? true : turn.ready.then(() => true as const);
}

/** The answer is made, or is from now on made piece by piece: what the caller takes to read it is nobody's time. */
export function answered(response: Response): void {
  turns.get(response)?.end();
}

/** The same pieces, a turn for each. */
export async function* inReadTurns<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
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
