import type { components } from '../../../clients/typescript/src/openapi';

type Problem = components['schemas']['ErrorModel'];
export type Fault = components['schemas']['ErrorModelFault'];

/**
 * An error response from the service (RFC 9457). `status` is 0 if the service did not respond. In this case, `isSilent`
 * is true if the request timed out.
 */
export class ProblemError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
    readonly requestId: string | null,
    readonly isSilent = false,
  ) {
    super(problem.title ?? `The service answered ${status}`);
  }

  get faults(): readonly Fault[] {
    return this.problem.errors ?? [];
  }

  static unreachable(isSilent: boolean): ProblemError {
    const detail =
      'The service did not respond. Check your connection, then check whether your last action was completed.';
    return new ProblemError(0, { title: 'The service cannot be reached', detail }, null, isSilent);
  }

  static async of(response: Response): Promise<ProblemError> {
    const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
    return new ProblemError(response.status, problem, problem.request_id ?? response.headers.get('x-request-id'));
  }
}

/** Returns whether the error is temporary, so that a retry may succeed. */
export function isPassing(error: unknown): boolean {
  return error instanceof ProblemError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/**
 * Returns whether the console repeats a request automatically after this error. A request that timed out is repeated
 * only when the user asks for it, because the user has already waited a long time.
 */
export function isWorthRepeating(error: unknown): boolean {
  return isPassing(error) && !(error as ProblemError).isSilent;
}
