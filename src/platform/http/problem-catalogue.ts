import { faultCatalogue, isWarning, problemCatalogue } from '../errors.js';
import { htmlPage } from './page.js';
import { statusOf } from './problem.filter.js';

/** An entry of the error catalogue: a problem, or an error in a member or parameter of a request. */
export interface CatalogueEntry {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly description: string;
  /** The remedy for the problem; null if the description contains it. */
  readonly remedy: string | null;
  /** The additional members that an error response of this problem may have. */
  readonly members: readonly string[];
}

const ACCEPTED = 'This is only a warning: the service still accepts the request or the line of the import file.';

/** Returns a list of one sentence that states the HTTP status; an empty list for a warning, which has no status. */
const statusText = ({ code, status }: CatalogueEntry): string[] => (isWarning(code) ? [] : [`Status ${status}.`]);

/**
 * Returns the entries of the error catalogue in alphabetical order: one for every value of `code` and of
 * `errors[].code`.
 */
export function catalogueEntries(): CatalogueEntry[] {
  const problems = problemCatalogue().map(({ code, kind, title, description, members }) => ({
    ...{ code, status: statusOf(kind), title, description, remedy: null, members },
  }));
  const known = new Set(problems.map((problem) => problem.code));
  const faults = faultCatalogue()
    .filter(({ code }) => !known.has(code))
    .map(({ code, description, remedy }) => ({
      ...{
        code,
        status: statusOf('invalid'),
        title: isWarning(code) ? 'A value may be wrong' : 'A member or parameter is not valid',
        description: isWarning(code) ? `${description} ${ACCEPTED}` : description,
        remedy,
        members: [],
      },
    }));
  return [...problems, ...faults].sort((a, b) => (a.code < b.code ? -1 : 1));
}

/**
 * Renders entries of the error catalogue as an HTML page.
 * @param basePath the path of the service, with which the addresses of the entries begin
 */
export function cataloguePage(title: string, entries: readonly CatalogueEntry[], basePath: string): string {
  const shown = entries.map((entry) => {
    const { code, description, remedy, members } = entry;
    return `<section class="problem">
<h2><a href="${escape(`${basePath}/problems/${code}`)}"><code>${escape(code)}</code></a></h2>
<p>${escape([...statusText(entry), description].join(' '))}</p>
${remedy === null ? '' : `<p>${escape(remedy)}</p>`}
${members.length === 0 ? '' : `<p>Further members: ${members.map((member) => `<code>${escape(member)}</code>`).join(', ')}</p>`}
</section>`;
  });
  return htmlPage({ title: escape(title), body: `<h1>${escape(title)}</h1>\n${shown.join('\n')}`, base: basePath });
}

/** Renders the error catalogue as Markdown for the documentation. */
export function catalogueMarkdown(): string {
  const shown = catalogueEntries().map((entry) => {
    const { code, title, description, remedy, members } = entry;
    const further =
      members.length === 0 ? [] : [`Further members: ${members.map((member) => `\`${member}\``).join(', ')}.`];
    const what = remedy === null ? [`**${title}.** ${description}`] : [description, `**Remedy:** ${remedy}`];
    return [`## ${code}`, ...statusText(entry), ...what, ...further].join('\n\n');
  });
  return `# Error catalogue

This page lists every error code that can occur in \`code\` or \`errors[].code\` of a problem document, with its meaning and
its remedy. A running service serves the same list at \`/problems\`, as a page and as JSON. \`npm run openapi\` generates
this document from the code.

${shown.join('\n\n')}
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
