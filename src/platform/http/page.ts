interface Content {
  title: string;
  /** The HTML of the page below its header. Texts in this HTML must already be escaped. */
  body: string;
  /** The path or the address of the service. The links to the page's icon and style sheets begin with it. */
  base: string;
}

const DESCRIPTION = 'Admit: which candidate may take which exam, the results of exams, and notifications of bookings.';

/** Renders an HTML page of the service, with the same fonts and colours as the console and the guide. */
export function htmlPage({ title, body, base }: Content): string {
  const look = `${base}/look`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${DESCRIPTION}">
<title>${title}</title>
<link rel="icon" href="${look}/mark.svg">
<link rel="preload" as="font" type="font/woff2" href="${look}/geist-latin-wght-normal.woff2" crossorigin>
<link rel="stylesheet" href="${look}/look.css">
<link rel="stylesheet" href="${look}/pages.css">
</head>
<body>
<header><a class="brand" href="${base}/">Admit</a></header>
<main>
${body}
</main>
</body>
</html>
`;
}
