import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { parseUrl } from '../../src/platform/urls';
import { startApp, type TestApp } from '../support/app';

/** Tests the routes that serve each schema of the OpenAPI document separately (contract section 1, “documents”). */
const BASE_PATH = '/v1';

describe('the schemas', () => {
  let app: TestApp;
  let document: any;
  let list: { name: string; address: string }[];

  beforeAll(async () => {
    app = await startApp({ env: { BASE_PATH } });
    document = (await app.call('GET', '/openapi.json')).body;
    list = (await app.call('GET', '/openapi/schemas')).body as typeof list;
  });
  afterAll(() => app.close());

  const get = async (name: string) => (await app.call('GET', `/openapi/schemas/${name}.json`)).body as object;
  const ajvWith = (schema: object) =>
    addFormats(new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true }))
      // The ajv-formats package lacks the `iri` format of JSON Schema 2020-12.
      .addFormat('iri', (text: string) => parseUrl(text) !== null)
      .compile(schema);

  it('the OpenAPI document links to a complete list of its schemas', () => {
    expect(document.externalDocs.url).toBe(`http://localhost:3000${BASE_PATH}/openapi/schemas`);
    expect(list.map(({ name }) => name)).toEqual(Object.keys(document.components.schemas as object));
  });

  it('serves each schema of the OpenAPI document at its $id, as a complete JSON Schema 2020-12', async () => {
    expect(list.length).toBeGreaterThan(60);
    for (const { name, address } of list) {
      const answer = await fetch(address);
      expect([name, answer.status]).toEqual([name, 200]);
      expect(answer.headers.get('content-type')).toBe('application/schema+json; charset=utf-8');
      const schema = (await answer.json()) as Record<string, unknown>;
      expect(schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema', $id: address });
      expect(JSON.stringify(schema)).not.toContain('#/components/');
      ajvWith(schema);
    }
  });

  it('the served schemas accept the examples of the OpenAPI document, and refuse them if a member has a wrong type', async () => {
    let compared = 0;
    for (const item of Object.values(document.paths as Record<string, Record<string, any>>))
      for (const { requestBody } of Object.values(item)) {
        const { schema, example } = requestBody?.content['application/json'] ?? {};
        const name = schema?.$ref?.split('/').at(-1) as string | undefined;
        if (name === undefined || example === undefined) continue;
        const isValid = ajvWith(await get(name));
        expect([name, isValid(example), isValid.errors]).toEqual([name, true, null]);
        for (const [member, value] of Object.entries(example as object))
          expect([name, member, isValid({ ...example, [member]: typeof value === 'object' ? 7 : {} })]).toEqual([
            name,
            member,
            false,
          ]);
        compared++;
      }
    expect(compared).toBeGreaterThan(20);
  });

  it('serves public schemas with an ETag, like the OpenAPI document, and returns 404 for an unknown name', async () => {
    const { address } = list[0];
    const first = await fetch(address);
    const again = await fetch(address, { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect([first.headers.get('cache-control'), again.status]).toEqual(['no-cache', 304]);
    for (const name of ['Nothing', 'constructor', '__proto__', '..%2Fpackage']) {
      const { status, body } = await app.call('GET', `/openapi/schemas/${name}.json`);
      expect([name, status, body.code]).toEqual([name, 404, 'not_found']);
    }
    const posted = await app.call('POST', '/openapi/schemas');
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
