// Builds the API page from docs/openapi.json: every operation by subject, with its parameters, body and responses.
import { escapeHtml, markdownOf } from './page.mjs';

/** @returns the page's HTML, and its sections for the search */
export function apiPage({ paths, tags, webhooks, components }) {
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
tried out. The whole reference is on this page, so the search of your browser finds every operation and member. Errors are problem documents: their codes stand in the <a href="problems.html">error catalogue</a>.</p>
${[...parts, sent, models(components.schemas, sections)].join('\n')}`;
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
      `<p>Body: <code>${type}</code>${schema.$ref ? `, ${linkOf(schema.$ref)}` : ''}</p>${
        example === undefined ? '' : `<pre tabindex="0"><code>${escapeHtml(shown(example))}</code></pre>`
      }`,
  );
  const answers = Object.entries(responses ?? {}).map(([status, response]) => {
    const { description: meaning = '', content = {} } = response;
    const answered = status < 300 ? typeOf(content['application/json']?.schema ?? {}) : '';
    return `<tr><td>${status}</td><td>${escapeHtml(meaning)} ${answered}</td></tr>`;
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

/** Lists the members of every schema. */
function models(schemas, sections) {
  sections.push({ level: 2, heading: 'Models', anchor: 'models', text: ['The members of bodies and answers.'] });
  const parts = Object.entries(schemas).map(([name, schema]) => {
    const rows = Object.entries(schema.properties ?? {}).map(
      ([member, property]) =>
        `<tr><td><code>${escapeHtml(member)}</code></td><td>${typeOf(property)}${schema.required?.includes(member) ? ', required' : ''}</td><td>${escapeHtml(property.description ?? '')}</td></tr>`,
    );
    return `<article>
<h3 id="model-${anchorOf(name)}"><code>${escapeHtml(name)}</code></h3>
${schema.description ? markdownOf(schema.description) : ''}
${table(['Member', 'Type', 'Meaning'], rows)}
</article>`;
  });
  return `<h2 id="models">Models</h2>\n${parts.join('\n')}`;
}

/** Returns the type of a value in words, with links to models. */
function typeOf({ $ref, type, items, anyOf, oneOf, allOf, enum: values, format }) {
  if ($ref !== undefined) return linkOf($ref);
  const parts = anyOf ?? oneOf ?? allOf;
  if (parts !== undefined) return parts.map(typeOf).filter(Boolean).join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (values !== undefined) return values.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' ');
  return [[type ?? []].flat().join(' or '), format && `(${format})`].filter(Boolean).join(' ');
}

function linkOf(ref) {
  const name = ref.split('/').at(-1);
  return `<a href="#model-${anchorOf(name)}">${escapeHtml(name)}</a>`;
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
