import type { components } from './openapi.js';

export type Problem = components['schemas']['ErrorModel'];

/**
 * Thrown for a response of 400 or above. Programs can test `code`; `problem.errors` lists every fault of the request.
 */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  constructor(
    readonly status: number,
    /**
     * A code of the error catalogue; `unreadable` when the response was not a problem document, for example a response
     * from a proxy.
     */
    readonly code: string,
    readonly problem: Problem | null,
  ) {
    super(problem === null ? `The service answered ${status}.` : `${status} ${code}: ${problem.detail}`);
  }
}

export async function problemOf(response: Response): Promise<ProblemError> {
  const text = await response.text();
  try {
    const problem = JSON.parse(text) as Problem;
    if (typeof problem.code === 'string') return new ProblemError(response.status, problem.code, problem);
  } catch {
    // A body that is not a problem document comes from a proxy, not from the service.
  }
  return new ProblemError(response.status, 'unreadable', null);
}
