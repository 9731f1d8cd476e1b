interface Content {
  title: string;
  /** The HTML of the page below the mark. Its texts are escaped. */
  body: string;
  /** The path or the address of the service, with which the addresses of its files begin. */
  base: string;
}

/** Renders an HTML page of the service, with the type and the colours that the console and the guide have as well. */
export function htmlPage({ title, body, base }: Content): string {
  const look = `${base}/look`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${look}/mark.svg">
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
