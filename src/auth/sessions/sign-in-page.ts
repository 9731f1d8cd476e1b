import type { Response } from 'express';
import { htmlPage } from '../../platform/http/page.js';

/**
 * Sends an HTML page that explains a failed sign-in and links back to the console. Its text contains nothing from
 * outside the service.
 * @param base the address of the service
 */
export function sendSignInPage(response: Response, status: number, title: string, advice: string, base: string): void {
  const body = `<h1>${title}</h1>
<p>${advice}</p>
<p><a href="${base}/console">Back to the console</a></p>`;
  response.status(status).type('html').send(htmlPage({ title, body, base }));
}
