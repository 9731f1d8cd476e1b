import { Catch } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { DomainError } from '../platform/errors.js';
import { htmlPage } from '../platform/http/page.js';
import { ProblemFilter, statusOf } from '../platform/http/problem.filter.js';
import { launchGone, launchNotAvailable } from './launch.errors.js';

/**
 * Returns the title and the advice of the page that a candidate sees if the launch is refused. Candidates read the page
 * in the minutes before an exam.
 */
function adviceOf({ problem, members }: DomainError): [title: string, advice: string] {
  if (problem === launchGone)
    return [
      'This link has been used or has expired',
      'A link to an exam works once, for five minutes. Go back to the page or e-mail where you got it and ask for a new one.',
    ];
  if (problem === launchNotAvailable && typeof members['available_from'] === 'string')
    return [
      'It is too early for your exam',
      `The exam can be started from ${members['available_from'].replace('T', ' ').replace('Z', '')} UTC on. Get a new link at that time.`,
    ];
  if (problem === launchNotAvailable)
    return [
      'Your exam is on hold',
      'The exam cannot be started at the moment. Contact your exam’s organiser. This link keeps working until it expires.',
    ];
  if (problem.kind === 'not_found')
    return [
      'This link is not complete',
      'Check that the whole link was copied, or go back to the page where you got it and ask for a new one.',
    ];
  return ['Your exam could not be opened', 'Wait a minute and open the link again. Nothing has been lost.'];
}

/** Responds to browsers with a page in plain words, and to other programs with the problem document. */
@Catch()
export class LaunchPageFilter extends ProblemFilter {
  protected override send(error: DomainError, request: Request, response: Response): void {
    response.vary('Accept');
    if (request.accepts(['application/problem+json', 'application/json', 'text/html']) !== 'text/html')
      return super.send(error, request, response);
    const [title, advice] = adviceOf(error);
    const body = `<h1>${title}</h1>\n<p>${advice}</p>`;
    const page = htmlPage({ title, body, base: this.config.baseUrl });
    response.status(statusOf(error.problem.kind)).set(error.headers).type('html').send(page);
  }
}
