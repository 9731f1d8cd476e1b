import type { Response } from 'express';

/**
 * Sends an HTML page that explains a failed sign-in and links back to the console. Its text contains nothing from
 * outside the service.
 */
export function sendSignInPage(
  response: Response,
  status: number,
  title: string,
  advice: string,
  console: string,
): void {
  response.status(status).type('html').send(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title><meta name="viewport" content="width=device-width"></head>
<body>
<main>
<h1>${title}</h1>
<p>${advice}</p>
<p><a href="${console}">Back to the console</a></p>
</main>
</body>
</html>
`);
}
