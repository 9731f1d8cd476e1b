// Prism, a mock server, simulates the service from its OpenAPI document. Every operation is called as in the document's
// examples.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';

/**
 * Calls every operation of the mocked document.
 * @param use called with the mock's address while it runs
 * @returns the faults, and the number of calls
 */
export async function callMock(program, file, { paths }, port, use) {
  const mock = spawn(program, ['mock', file, '--port', String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(mock, 'exit');
  let said = '';
  mock.stdout.on('data', (bytes) => (said += bytes));
  try {
    while (!said.includes('Prism is listening')) {
      if (mock.exitCode !== null) throw new Error(said);
      await Promise.race([once(mock.stdout, 'data'), ended]);
    }
    // Prism prints an address with examples of every parameter for each operation, in the order of the document.
    const addresses = [...said.matchAll(/ info +([A-Z]+) +(http:\S+)/g)];
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
    );
    const faults = [];
    if (addresses.length !== operations.length)
      faults.push(`prism: ${addresses.length} of ${operations.length} operations`);
    for (const [index, [, method, address]] of addresses.entries())
      faults.push(...(await call(operations[index], method, address)));
    await use(`http://127.0.0.1:${port}`);
    return { faults, called: addresses.length };
  } finally {
    mock.kill();
    await ended;
  }
}

async function call(
  { path, method: expected, parameters = [], requestBody, security = [], responses },
  method,
  address,
) {
  const name = `prism: ${method} ${path}`;
  if (method !== expected) return [`${name} is ${expected} in the document`];
  const headers = {};
  if (security.length > 0)
    headers['Authorization'] = 'client' in security[0] ? 'Basic a2V5OnNlY3JldA==' : 'Bearer token';
  for (const { name: header, in: place, required, schema } of parameters)
    if (place === 'header' && required) headers[header] = schema.enum?.[0] ?? schema.const ?? '1';
  const [type, { example } = {}] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type !== undefined) headers['Content-Type'] = type;
  const body = bodyOf(type, example);
  const answer = await fetch(address, { method, headers, body, redirect: 'manual' });
  const text = await answer.text();
  const violations = answer.headers.get('sl-violations');
  if (violations !== null) return [`${name}: ${violations}`];
  const declared = responses[answer.status];
  if (declared === undefined || answer.status >= 400) return [`${name} is answered with ${answer.status}: ${text}`];
  const shown = declared.content?.['application/json']?.example;
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  if (shown !== undefined && isJson && !isDeepStrictEqual(JSON.parse(text), shown))
    return [`${name} is not answered with the example: ${text}`];
  return [];
}

function bodyOf(type, example) {
  if (type === undefined || example === undefined) return undefined;
  if (type === 'application/x-www-form-urlencoded') return new URLSearchParams(example).toString();
  return typeof example === 'string' ? example : JSON.stringify(example);
}
