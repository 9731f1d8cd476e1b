import type { components } from './openapi.js';

export type Problem = components['schemas']['ErrorModel'];

/**
 * Thrown for a response with a status of 400 or above. Programs can test `code`; `problem.errors` lists all faults in
 * the request.
 */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';

  constructor(
    readonly status: number,
    /**
     * A code from the error catalogue; `unreadable` if the response was not a problem document, for example because a
     * proxy sent it.
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
    // The body is not a problem document, because a proxy sent the response instead of the service.
  }
  return new ProblemError(response.status, 'unreadable', null);
}
