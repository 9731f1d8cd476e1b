// Builds the API page from docs/openapi.json: every operation by subject, with its parameters, body and responses.
import { escapeHtml, markdownOf } from './page.mjs';

/** @returns the page's HTML, and its sections for the search */
export function apiPage({ paths, tags, webhooks }) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, ...operation })),
  );
  const hook = webhooks.notification.put;
  const sections = [];
  const parts = tags.map(({ name, description }) => {
    const own = operations.filter((operation) => operation.tags.includes(name));
    sections.push({ level: 2, heading: name, anchor: anchorOf(name), text: [description] });
    return `<h2 id="${anchorOf(name)}">${escapeHtml(name)}</h2>\n${markdownOf(description)}\n${own
      .map((operation) => article(operation, sections))
      .join('\n')}`;
  });
  const sent = `<h2 id="sent-to-partners">Sent to partners</h2>\n${article({ ...hook, name: 'PUT {partner_url}/notifications', parameters: [] }, sections)}`;
  sections.push({ level: 2, heading: 'Sent to partners', anchor: 'sent-to-partners', text: [] });
  const html = `<h1 id="api">API</h1>
<p>Out of the OpenAPI document, which a running service has at <code>/openapi.json</code>; at <code>/docs</code> every call can be
tried out. Errors are problem documents: their codes stand in the <a href="problems.html">error catalogue</a>.</p>
${[...parts, sent].join('\n')}`;
  return { html, sections: [{ level: 1, heading: 'API', anchor: 'api', text: [] }, ...sections] };
}

function article({ name, summary, description, security = [], parameters = [], requestBody, responses }, sections) {
  sections.push({ level: 3, heading: name, anchor: anchorOf(name), text: [summary, description ?? ''] });
  const scopes = security.flatMap((scheme) => scheme.oauth2 ?? []);
  const rows = parameters.map(
    ({ name: parameter, in: place, required, description: meaning = '' }) =>
      `<tr><td><code>${escapeHtml(parameter)}</code></td><td>${place}${required ? ', required' : ''}</td><td>${escapeHtml(meaning)}</td></tr>`,
  );
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema, example }]) =>
      `<p>Body: <code>${type}</code>${schema.$ref ? `, ${schema.$ref.split('/').at(-1)}` : ''}</p>${
        example === undefined ? '' : `<pre tabindex="0"><code>${escapeHtml(shown(example))}</code></pre>`
      }`,
  );
  const answers = Object.entries(responses ?? {}).map(([status, response]) => {
    const { description: meaning = '' } = response;
    return `<tr><td>${status}</td><td>${escapeHtml(meaning)}</td></tr>`;
  });
  return `<article>
<h3 id="${anchorOf(name)}"><code>${escapeHtml(name)}</code></h3>
<p>${escapeHtml(summary)}${scopes.length === 0 ? '' : ` Scope <code>${scopes.join(' ')}</code>.`}</p>
${description ? markdownOf(description) : ''}
${table(['Parameter', 'Where', 'Meaning'], rows)}
${bodies.join('\n')}
${table(['Answer', 'When'], answers)}
</article>`;
}

function table(titles, rows) {
  if (rows.length === 0) return '';
  const head = titles.map((title) => `<th>${title}</th>`).join('');
  return `<div class="wide" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

const anchorOf = (name) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
const shown = (example) => (typeof example === 'string' ? example : JSON.stringify(example, null, 2));
