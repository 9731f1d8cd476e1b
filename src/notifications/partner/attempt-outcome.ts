import { type FailureClass, type PartnerFault } from './partner-connection.js';
import { type Answer } from './partner-exchange.js';
import { excerptOf, firstBytes } from './partner-excerpt.js';
import { retryAfterSeconds } from './retry-after.js';

export interface AttemptOutcome {
  delivered: boolean;
  /** The partner's status, also when its body failed; null when there was none. */
  httpStatus: number | null;
  failure: FailureClass | null;
  /** A short code of the cause, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`, without any data; null when the status says all. */
  reason: string | null;
  /** At most 2 KiB of what the partner said, as text that PostgreSQL takes, without our own credentials. */
  excerpt: string | null;
  durationMs: number;
  /** After how many seconds the partner asks to be called again. */
  retryAfterS: number | null;
  /** PUTs of the same attempt before this one: the partner has seen each of them. */
  earlier: readonly EarlierPut[];
  /** How many milliseconds after the attempt's beginning this one, the last, began; 0 when there are none before it. */
  beganMs: number;
}

/** A PUT whose attempt went on with another one. */
export type EarlierPut = Pick<
  AttemptOutcome,
  'httpStatus' | 'failure' | 'reason' | 'excerpt' | 'durationMs' | 'beganMs'
>;

/** The PUTs of one attempt, as they are logged. */
export class Puts {
  private began: number;
  private readonly earlier: EarlierPut[] = [];
  /** A 401 that no other PUT has followed yet, and how long it took. */
  private open: Answer | null = null;
  private refusedAfterMs = 0;

  constructor(
    private readonly start: number,
    readonly secrets: string[],
  ) {
    this.began = start;
  }

  /** Another one is about to be written. */
  begin(): void {
    if (this.open) this.earlier.push({ ...this.result(this.open), durationMs: this.refusedAfterMs });
    if (this.open) this.began = performance.now();
    this.open = null;
  }

  /** A new token is asked for. */
  refused(answer: Answer): void {
    this.refusedAfterMs = this.durationMs;
    this.open = answer;
  }

  /** The kept connection was closed when it had just been written; a new one takes it. */
  inVain({ failure, reason }: PartnerFault): void {
    const { durationMs, beganMs } = this;
    this.earlier.push({ httpStatus: null, failure, reason, excerpt: null, durationMs, beganMs });
    this.began = performance.now();
  }

  outcome(answer: Answer): AttemptOutcome {
    const result = this.result(answer);
    return {
      ...result,
      delivered: result.failure === null,
      retryAfterS: retryAfterSeconds(answer.retryAfter, Date.now()),
      earlier: this.earlier,
    };
  }

  failed({ failure, reason, said }: PartnerFault): AttemptOutcome {
    // Without a new token the 401 remains the answer, and its reason is that of the token.
    if (this.open) return { ...this.outcome(this.open), reason, durationMs: this.durationMs };
    const { durationMs, beganMs, earlier } = this;
    const nothing = { delivered: false, httpStatus: null, retryAfterS: null };
    return {
      ...nothing,
      excerpt: said && firstBytes(said, this.secrets),
      failure,
      reason,
      durationMs,
      beganMs,
      earlier,
    };
  }

  private get durationMs(): number {
    return Math.round(performance.now() - this.began);
  }

  /** The first one has all the time before it: name, connection and token. */
  private get beganMs(): number {
    const puts = this.earlier.length;
    return puts === 0 ? 0 : Math.max(puts, Math.round(this.began - this.start));
  }

  private result(answer: Answer): EarlierPut {
    const failure = failureOf(answer);
    const { durationMs, beganMs } = this;
    const excerpt = excerptOf(answer, this.secrets);
    return {
      httpStatus: answer.status,
      failure,
      reason: reasonOfAnswer(answer, failure),
      excerpt,
      durationMs,
      beganMs,
    };
  }
}

/** The specification's word for a 400. */
export const NO_MATCHING_RECORD = 'NO_MATCHING_RECORD';

/** Of a 400 the specification's word; else the status says all, unless it is 200. */
function reasonOfAnswer({ status, ending, syntax }: Answer, failure: FailureClass | null): string | null {
  if (status === 400) return NO_MATCHING_RECORD;
  return failure !== null && status === 200 ? (syntax ?? `body_${ending}`) : null;
}

/** Exactly 200 is delivered, once its body is there or too long to be read. Of any other answer the status is enough. */
function failureOf({ status, ending }: Answer): FailureClass | null {
  if (status === 200) {
    if (ending === 'late') return 'timeout';
    return ending === 'broken' ? 'protocol' : null;
  }
  if (status === 401 || status === 403) return 'auth';
  if (status >= 600 || status < 300) return 'protocol';
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'client_error' : 'redirect';
}
