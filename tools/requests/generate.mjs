// Writes requests/service.postman_collection.json and requests/service.http out of docs/openapi.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STEPS } from './steps.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const FOLDER = join(root, 'requests');
export const COLLECTION = join(FOLDER, 'service.postman_collection.json');
export const HTTP_FILE = join(FOLDER, 'service.http');

/** What the document's examples name, and the variable that stands for it. */
const SURROUNDINGS = { K7MWQ2XA9PDR: '{{account_code}}', 'https://partner.example/hooks': '{{partner_url}}' };
/** Made by the service, and taken from an answer before. */
const MADE = ['svc_id', 'svc_eligibility_code', 'booking_code', 'import_id', 'notification_id', 'resend_id', 'job_id'];
const NAMED = [...MADE, 'subscription_id', 'consumer_key', 'launch_code', 'account_code'];

function requestsOf(document) {
  const asked = new Set();
  const folders = Object.entries(STEPS).map(([title, steps]) => {
    const requests = steps.map((step) => {
      const [name, more = {}] = [step].flat();
      asked.add(name);
      return requestOf(document, name, more);
    });
    return { title, requests };
  });
  const all = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // What has no place among the steps is sent as it stands: it may find nothing, but it is refused as the document says.
  const more = all.filter((name) => !asked.has(name) && !isStream(document, name));
  const requests = more.map((name) => requestOf(document, name, { also: refusalsOf(document, name) }));
  return [...folders.slice(0, -1), { title: 'More', requests }, ...folders.slice(-1)];
}

const operationOf = (document, name) => document.paths[name.split(' ')[1]]?.[name.split(' ')[0].toLowerCase()];
/** It would not end. */
const isStream = (document, name) =>
  JSON.stringify(operationOf(document, name).responses).includes('text/event-stream');
const refusalsOf = (document, name) =>
  Object.keys(operationOf(document, name).responses)
    .map(Number)
    .filter((status) => status >= 400 && status < 500 && ![401, 429].includes(status));

function requestOf(document, name, { keep = {}, body, also = [], waitMs = 0, as, names = {} }) {
  const [method, path] = name.split(' ');
  const operation = operationOf(document, name);
  if (operation === undefined) throw new Error(`${name} is not in the document.`);
  const own = (parameter) => names[parameter] ?? (parameter === 'id' ? 'subscription_id' : parameter);
  const headers = {};
  const query = [];
  let address = path;
  for (const { name: parameter, in: place, required, example } of operation.parameters ?? []) {
    if (!required) continue;
    const variable = own(parameter);
    const value = NAMED.includes(variable) || names[parameter] ? `{{${variable}}}` : String(example);
    if (place === 'path') address = address.replace(`{${parameter}}`, value);
    else if (place === 'query') query.push(`${parameter}=${encodeURIComponent(value)}`);
    else headers[parameter] = value;
  }
  const [scheme = {}] = operation.security ?? [];
  const scope = scheme.oauth2?.[0];
  const who = as ?? (scope === 'admin' ? 'operator' : 'client');
  if (scope !== undefined) headers.Authorization = `Bearer {{${who}_token}}`;
  const basic = scheme.client === undefined ? null : { user: `{{${who}_key}}`, password: `{{${who}_secret}}` };
  const [[type, content] = []] = Object.entries(operation.requestBody?.content ?? {});
  if (type !== undefined) headers['Content-Type'] = type;
  const wanted = Object.keys(operation.responses)
    .map(Number)
    .filter((status) => status < 400);
  return {
    ...{ name, method, path: address + (query.length > 0 ? `?${query.join('&')}` : ''), headers, basic, keep, waitMs },
    summary: operation.summary,
    body: type === undefined ? null : bodyOf(type, body ?? content.example),
    statuses: [...wanted, ...also],
  };
}

function bodyOf(type, example) {
  if (type === 'application/x-www-form-urlencoded')
    return new URLSearchParams(example).toString().replaceAll('%7B%7B', '{{').replaceAll('%7D%7D', '}}');
  const text = typeof example === 'string' ? example : JSON.stringify(withVariables(example), null, 2);
  return Object.entries(SURROUNDINGS).reduce((so, [value, variable]) => so.replaceAll(value, variable), text);
}

function withVariables(example) {
  if (Array.isArray(example)) return example.map(withVariables);
  if (typeof example !== 'object' || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [
      name,
      [...MADE, 'subscription_id'].includes(name) ? `{{${name}}}` : withVariables(value),
    ]),
  );
}

/** A launch URL ends with its code. */
const kept = (keep) =>
  Object.entries(keep).map(([variable, member]) =>
    variable === 'launch_url'
      ? { variable: 'launch_code', read: (body) => `${body}.launch_url.split('/launch/')[1]` }
      : {
          variable,
          read: (body) =>
            `${body}${member
              .split('.')
              .map((part) => (/^\d/.test(part) ? `[${part}]` : `.${part}`))
              .join('')}`,
        },
  );

function collectionOf(folders) {
  const script = (type, exec) => ({ listen: type, script: { type: 'text/javascript', exec } });
  const item = folders.map(({ title, requests }) => ({
    name: title,
    item: requests.map(({ name, summary, method, path, headers, basic, body, keep, waitMs, statuses }) => ({
      name: `${summary} (${name})`,
      // Where it leads is for a browser.
      protocolProfileBehavior: { followRedirects: false },
      event: [
        ...(waitMs === 0 ? [] : [script('prerequest', [`setTimeout(() => {}, ${waitMs});`])]),
        script('test', [
          `pm.test('answers as the document says', () => pm.expect(pm.response.code, pm.response.text()).to.be.oneOf(${JSON.stringify(statuses)}));`,
          ...kept(keep).map(
            ({ variable, read }) => `pm.environment.set('${variable}', ${read('pm.response.json()')});`,
          ),
        ]),
      ],
      request: {
        method,
        header: Object.entries(headers).map(([key, value]) => ({ key, value })),
        ...(basic === null
          ? {}
          : {
              auth: {
                type: 'basic',
                basic: [
                  { key: 'username', value: basic.user, type: 'string' },
                  { key: 'password', value: basic.password, type: 'string' },
                ],
              },
            }),
        ...(body === null ? {} : { body: { mode: 'raw', raw: body } }),
        url: `{{base_url}}${path}`,
      },
    })),
  }));
  const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';
  return JSON.stringify({ info: { name: 'Candidate eligibility service', schema }, item }, null, 2) + '\n';
}

function httpFileOf(folders) {
  const blocks = folders.flatMap(({ title, requests }) =>
    requests.map(({ name, summary, method, path, headers, basic, body, keep, waitMs, statuses }, index) => {
      const lines = [
        ...(index === 0 ? [`# ---- ${title}`] : []),
        `### ${summary} (${name})`,
        ...(waitMs === 0 ? [] : [`# @sleep ${waitMs}`]),
        '# @no-redirect',
        `${method} {{base_url}}${path}`,
        ...(basic === null ? [] : [`Authorization: Basic ${basic.user} ${basic.password}`]),
        ...Object.entries(headers).map(([key, value]) => `${key}: ${value}`),
        ...(body === null ? [] : ['', body.trimEnd()]),
        '',
        '> {%',
        `  client.test('${method} ${path}', () => client.assert(${JSON.stringify(statuses)}.includes(response.status), String(response.status)));`,
        ...kept(keep).map(({ variable, read }) => `  client.global.set('${variable}', ${read('response.body')});`),
        '%}',
        '',
      ];
      return lines.join('\n');
    }),
  );
  return blocks.join('\n');
}

/** What the files should be, path → content, and how many requests are in each. */
export function generated() {
  const folders = requestsOf(JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')));
  const files = new Map([
    [COLLECTION, collectionOf(folders)],
    [HTTP_FILE, httpFileOf(folders)],
  ]);
  return { files, count: folders.flatMap(({ requests }) => requests).length };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(FOLDER, { recursive: true });
  for (const [path, content] of generated().files) writeFileSync(path, content);
}
