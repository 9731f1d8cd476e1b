import { type FailureClass, type PartnerFault } from './partner-connection.js';
import type { Answer } from './answer-reader.js';
import { excerptOf, firstBytes } from './partner-excerpt.js';
import { retryAfterSeconds } from './retry-after.js';

export interface AttemptOutcome {
  delivered: boolean;
  /** The HTTP status of the partner's response, even if its body was incomplete; null without a response. */
  httpStatus: number | null;
  failure: FailureClass | null;
  /**
   * A short code for the cause of the failure, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`; null if the HTTP status
   * alone explains the failure. The code contains no data from the partner.
   */
  reason: string | null;
  /**
   * The first 2 KiB of the partner's response, as text that PostgreSQL can store. The service's own credentials are
   * masked.
   */
  excerpt: string | null;
  durationMs: number;
  /** The number of seconds that the partner, or its token endpoint, asks the service to wait; null if neither does. */
  retryAfterS: number | null;
  /** The earlier HTTP requests of the same attempt. The partner may have received each of them. */
  earlier: readonly EarlierPut[];
  /**
   * The milliseconds from the start of the attempt to the start of its last HTTP request; 0 if there was only one
   * request.
   */
  beganMs: number;
}

/** An HTTP request that was followed by another request in the same attempt. */
export type EarlierPut = Pick<
  AttemptOutcome,
  'httpStatus' | 'failure' | 'reason' | 'excerpt' | 'durationMs' | 'beganMs'
>;

/** Collects the HTTP requests of an attempt, for the log of attempts. */
export class Puts {
  private began: number;
  private readonly earlier: EarlierPut[] = [];
  /** The last response with status 401; null again as soon as the next request of the attempt begins. */
  private open: Answer | null = null;
  private refusedAfterMs = 0;

  constructor(
    private readonly start: number,
    readonly secrets: string[],
  ) {
    this.began = start;
  }

  /** Records that another HTTP request of the attempt begins. */
  begin(): void {
    if (this.open) this.earlier.push({ ...this.result(this.open), durationMs: this.refusedAfterMs });
    if (this.open) this.began = performance.now();
    this.open = null;
  }

  /** Records a response with status 401, before a new token is requested. */
  refused(answer: Answer): void {
    this.refusedAfterMs = this.durationMs;
    this.open = answer;
  }

  /**
   * Records a request that was lost, because the partner was closing the keep-alive connection when the request was
   * sent. The request is then repeated on a new connection.
   */
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

  failed({ failure, reason, said, retryAfterS }: PartnerFault): AttemptOutcome {
    // If the request for a new token failed, the outcome is the 401, and its reason says why the token request failed.
    if (this.open) return { ...this.outcome(this.open), reason, durationMs: this.durationMs };
    const { durationMs, beganMs, earlier } = this;
    return {
      delivered: false,
      httpStatus: null,
      retryAfterS,
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

  /**
   * The start of the last request, in milliseconds after the start of the attempt. The first request starts at 0,
   * because its time includes the name look-up, the connection and the token request.
   */
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

/** The reason for a status 400, as the specification names it. */
export const NO_MATCHING_RECORD = 'NO_MATCHING_RECORD';

/**
 * Returns the reason of a failure. For a status 400, this is the reason that the specification names. For a 200, it is
 * the way in which the body failed. Any other status needs no further reason, and the result is null.
 */
function reasonOfAnswer({ status, ending, syntax }: Answer, failure: FailureClass | null): string | null {
  if (status === 400) return NO_MATCHING_RECORD;
  return failure !== null && status === 200 ? (syntax ?? `body_${ending}`) : null;
}

/**
 * Returns the failure class of a response; null if the response counts as delivered. A response counts as delivered
 * only if its status is 200 and its body is complete or too long to be read. For any other status, the body does not
 * matter.
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
