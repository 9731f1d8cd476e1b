import { type FailureClass, type PartnerFault } from './partner-connection.js';
import type { Answer } from './answer-reader.js';
import { excerptOf, firstBytes } from './partner-excerpt.js';
import { retryAfterSeconds } from './retry-after.js';

export interface AttemptOutcome {
  delivered: boolean;
  /** The partner's status, also when its body failed; null when there was none. */
  httpStatus: number | null;
  failure: FailureClass | null;
  /**
   * A short code of the cause, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`, without any data; null when the status is
   * sufficient.
   */
  reason: string | null;
  /** At most 2 KiB of the partner's answer, as text for PostgreSQL, without our own credentials. */
  excerpt: string | null;
  durationMs: number;
  /** The seconds after which the partner asks to be called again. */
  retryAfterS: number | null;
  /** Earlier PUTs of the same attempt: the partner has received each of them. */
  earlier: readonly EarlierPut[];
  /** Milliseconds from the attempt's start to the start of its last PUT; 0 when there is only one. */
  beganMs: number;
}

/** A PUT that was followed by another one in the same attempt. */
export type EarlierPut = Pick<
  AttemptOutcome,
  'httpStatus' | 'failure' | 'reason' | 'excerpt' | 'durationMs' | 'beganMs'
>;

/** The PUTs of one attempt, for the log. */
export class Puts {
  private began: number;
  private readonly earlier: EarlierPut[] = [];
  /** A 401 that no other PUT has followed yet, and its duration. */
  private open: Answer | null = null;
  private refusedAfterMs = 0;

  constructor(
    private readonly start: number,
    readonly secrets: string[],
  ) {
    this.began = start;
  }

  /** Starts another PUT. */
  begin(): void {
    if (this.open) this.earlier.push({ ...this.result(this.open), durationMs: this.refusedAfterMs });
    if (this.open) this.began = performance.now();
    this.open = null;
  }

  /** Notes a 401, before a new token is requested. */
  refused(answer: Answer): void {
    this.refusedAfterMs = this.durationMs;
    this.open = answer;
  }

  /** Notes a PUT on a kept connection that was closed at that moment; a new connection repeats it. */
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
    // Without a new token the 401 stays the answer, with the reason of the token failure.
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

  /** The start of the last PUT. The first PUT includes the time for name, connection and token. */
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

/** Returns the specification's word for a 400; otherwise the status is sufficient, except for 200. */
function reasonOfAnswer({ status, ending, syntax }: Answer, failure: FailureClass | null): string | null {
  if (status === 400) return NO_MATCHING_RECORD;
  return failure !== null && status === 200 ? (syntax ?? `body_${ending}`) : null;
}

/**
 * Returns the failure class: exactly 200 counts as delivered, once its body is complete or too long to be read. For any
 * other answer the status is sufficient.
 */
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
