// The pages as Markdown, for programs: the documents themselves, with links within the repository turned into links
// within the guide.
import { dirname, normalize, join } from 'node:path';
import { OUTLINE } from './outline.mjs';

/** Returns the address of a page as Markdown. */
export const markdownPage = (page) => page.replace(/\.html$/, '.md');

/**
 * Turns the links outside code into those of the guide's Markdown pages.
 *
 * @param pages source → page
 */
export function markdownOfSource(source, page, text, pages) {
  const up = '../'.repeat(page.split('/').length - 1);
  const target = (href) => {
    if (/^(https?:|#)/.test(href)) return href;
    const [path, anchor] = href.split('#');
    const file = normalize(join(dirname(source), path)).replace(/\/$/, '');
    const other = pages.get(file) ?? pages.get(`${file}/README.md`);
    const address = other === undefined ? `${up}files/${file}` : up + markdownPage(other);
    return anchor === undefined ? address : `${address}#${anchor}`;
  };
  let isCode = false;
  return text
    .replaceAll(/^<!--.*-->\n?/gm, '')
    .split('\n')
    .map((line) => {
      if (/^ *```/.test(line)) isCode = !isCode;
      return isCode ? line : line.replaceAll(/\]\(([^()\s]+)\)/g, (_all, href) => `](${target(href)})`);
    })
    .join('\n');
}

/** Builds the API page as Markdown: every operation by subject, and the address of the OpenAPI document. */
export function markdownOfApi({ paths, tags }) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, name: `${method.toUpperCase()} ${path}` })),
  );
  const parts = tags.map(({ name, description }) => {
    const own = operations.filter((operation) => operation.tags.includes(name));
    const lines = own.map(({ name: call, summary, operationId }) => `- \`${call}\`: ${summary} (\`${operationId}\`)`);
    return `## ${name}\n\n${description}\n\n${lines.join('\n')}`;
  });
  const head =
    'The OpenAPI document has parameters, bodies, answers and examples of every operation: [JSON](../openapi.json), ' +
    '[YAML](../openapi.yaml). Each schema stands alone at an address of its own: [list](../openapi/schemas).';
  return `# API\n\n${head}\n\n${parts.join('\n\n')}\n`;
}

/** Builds the list of all pages for programs (llmstxt.org), which the service also serves at /llms.txt. */
export function llmsText(decisions) {
  const line = ([title, , page]) => `- [${title}](${page.replace('.html', '.md')})`;
  const groups = OUTLINE.map(([group, entries]) => `## ${group}\n\n${entries.map(line).join('\n')}`);
  return `# Candidate eligibility service

> Candidates' eligibility to sit exams, bookings, assessment results, and notifications to partners: a REST API with OAuth 2 tokens.

The pages are Markdown. The OpenAPI document is [openapi.json](../openapi.json); it has an example for every body and answer. A sandbox
with credentials is started by \`npm install && npm start\`. Errors are problem documents (RFC 9457) with stable codes.

${groups.join('\n\n')}

## Optional

${decisions.map(line).join('\n')}
`;
}
