import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DESCRIPTIONS } from '../../src/openapi/operations';
import { openApiDocument } from '../../src/openapi/document';
import type { HttpConfig } from '../../src/platform/http/http.config';
import { catalogueMarkdown } from '../../src/platform/http/problem-catalogue';
import { startApp, type TestApp } from '../support/app';

let app: TestApp;
let document: any;

beforeAll(async () => {
  app = await startApp();
  document = (await app.call('GET', '/openapi.json')).body;
});
afterAll(() => app.close());

type Schema = Record<string, any>;

const schema = (name: string): Schema => document.components.schemas[name] as Schema;
const operations = () =>
  Object.entries(document.paths as Record<string, Record<string, any>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      method,
      operation,
    })),
  );
/**
 * Returns the schema of a member without its description and example. The schema of an optional member also allows
 * null.
 */
const rule = (model: string, member: string) => {
  const { description: _description, example: _example, ...rest } = schema(model)['properties'][member] as Schema;
  return rest;
};
const optionalText = (rest: object) => ({ type: ['string', 'null'], ...rest });

describe('the OpenAPI document', () => {
  it('the OpenAPI document describes the purpose, callers and responses of every operation', () => {
    expect(operations().length).toBeGreaterThan(40);
    for (const { name, path, operation } of operations()) {
      expect([name, typeof operation.summary, operation.summary?.length > 5]).toEqual([name, 'string', true]);
      const open = /^\/($|token|revoke|introspect|health|problems|launch|console|\.well-known)/.test(path);
      if (!open) {
        const [scope] = (operation.security as { oauth2: string[] }[]).map(({ oauth2 }) => oauth2);
        expect([name, scope]).toEqual([
          name,
          [expect.stringMatching(/^(read|create|update|delete|launch|results|bookings|admin|partner)$/)],
        ]);
        for (const status of ['401', '403', '429', '500'])
          expect([name, Object.keys(operation.responses as object)]).toEqual([name, expect.arrayContaining([status])]);
      }
      for (const [status, response] of Object.entries(operation.responses as Record<string, Schema>)) {
        expect([name, status, typeof response['description']]).toEqual([name, status, 'string']);
        if (Number(status) < 400) continue;
        const [type, content] = Object.entries((response['content'] ?? {}) as Record<string, Schema>)[0] ?? [];
        const expected = / \/console\/sign-in/.test(name)
          ? /^(text\/html|application\/problem\+json)$/
          : /^application\/(problem\+)?json$/;
        expect([name, status, type]).toEqual([name, status, expect.stringMatching(expected)]);
        expect([name, status, content['schema']]).toEqual([name, status, expect.any(Object)]);
      }
    }
  });

  it('each error example in the OpenAPI document has the same status as the response that lists the example', () => {
    const wrong = Object.entries(document.paths as Record<string, Record<string, any>>).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { responses }]) =>
        Object.entries(responses as Record<string, any>).flatMap(([status, { content }]) =>
          Object.entries((content?.['application/problem+json']?.examples ?? {}) as Record<string, { $ref: string }>)
            .map(([code, { $ref }]) => ({ code, ...document.components.examples[$ref.split('/').at(-1)!] }))
            .filter(({ value }) => value.status !== Number(status))
            .map(({ code }) => `${method} ${path} ${status}: ${code}`),
        ),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('the OpenAPI document declares each member of `parts` in the response and examples of GET /health/ready', async () => {
    const { '200': ready, '503': unready } = document.paths['/health/ready'].get.responses as Schema;
    const { parts } = (await app.call('GET', '/health/ready')).body as { parts: object };
    expect(Object.keys(parts).sort()).toEqual(['database', 'deliveries', 'delivery loop', 'migrations']);
    for (const answer of [ready, unready]) {
      const { schema: shape, example } = answer['content']['application/json'] as Schema;
      const declared = Object.keys(shape['properties'].parts.properties as object);
      expect(declared).toEqual(expect.arrayContaining([...Object.keys(parts), 'process']));
      expect(declared).toEqual(expect.arrayContaining(Object.keys(example['parts'] as object)));
    }
  });

  it('the catalogue of errors that the service serves matches docs/problems.md', () => {
    expect(readFileSync(join(__dirname, '../../docs/problems.md'), 'utf8')).toBe(catalogueMarkdown());
  });

  it('the OpenAPI document describes every operation, and lists the tags in the order in which a client needs them', () => {
    const tags = (document.tags as Schema[]).map(({ name, description }) => [name, typeof description]);
    expect(tags.slice(0, 3)).toEqual([
      ['Token service', 'string'],
      ['Eligibilities', 'string'],
      ['Bookings', 'string'],
    ]);
    const names = operations().map(({ name, operation }) => {
      expect([name, operation.description?.length > 5, operation.description === operation.summary]).toEqual([
        name,
        true,
        false,
      ]);
      expect([name, tags.map(([tag]) => tag)]).toEqual([name, expect.arrayContaining(operation.tags as string[])]);
      return name;
    });
    const ofNothing = Object.keys(DESCRIPTIONS).filter((name) => !names.includes(name));
    expect(ofNothing.filter((name) => !name.includes(' /sandbox/'))).toEqual([]);
  });

  it('the OpenAPI document has an example of every request body and every required parameter', () => {
    for (const { name, operation } of operations()) {
      for (const media of Object.values((operation.requestBody?.content ?? {}) as Record<string, Schema>))
        expect([name, media['example']]).toEqual([name, expect.anything()]);
      for (const parameter of (operation.parameters ?? []) as Schema[])
        expect([name, parameter['name'], 'example' in parameter]).toEqual([
          name,
          parameter['name'],
          parameter['required'] === true,
        ]);
    }
  });

  it('the OpenAPI document declares Basic authentication on the token routes, and no security scheme on open routes', () => {
    const securityOf = (path: string, method: string) => document.paths[path][method].security as object[];
    expect(document.components.securitySchemes.client).toMatchObject({ type: 'http', scheme: 'basic' });
    for (const path of ['/token', '/revoke', '/introspect']) expect(securityOf(path, 'post')).toEqual([{ client: [] }]);
    expect(securityOf('/health/live', 'get')).toEqual([]);
  });

  it('the addresses of the server and the token endpoint in the OpenAPI document begin with BASE_URL if it is set', () => {
    const config = { ...app.config, http: { ...app.config.http, publicUrl: 'https://api.example/v1' } as HttpConfig };
    const { servers, components } = openApiDocument(app.app, config) as any;
    expect(servers).toEqual([{ url: 'https://api.example/v1' }]);
    for (const flow of ['password', 'clientCredentials'])
      expect(components.securitySchemes.oauth2.flows[flow].tokenUrl).toBe('https://api.example/v1/token');
    expect(document.servers).toEqual([{ url: '/' }]);
  });

  it('the OpenAPI document lists every parameter of every path', () => {
    for (const { name, path, operation } of operations()) {
      const named = ((operation.parameters ?? []) as Schema[])
        .filter((p) => p['in'] === 'path')
        .map((p) => p['name'] as string);
      expect([name, named.sort()]).toEqual([
        name,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort(),
      ]);
    }
  });

  it('the OpenAPI document lists the statuses that the specification requires for creating, updating and reading', () => {
    const statuses = (path: string, method: string) => Object.keys(document.paths[path][method].responses as object);
    const candidate = '/accounts/{account_code}/candidates/{candidate_id}';
    expect(statuses('/accounts/{account_code}/candidates', 'post')).toEqual(
      expect.arrayContaining(['200', '400', '401', '403', '409', '413', '415', '422', '429', '500', '503']),
    );
    expect(statuses(`${candidate}/tests/{test_code}`, 'put')).toEqual(
      expect.arrayContaining(['204', '400', '401', '403', '404', '500']),
    );
    expect(statuses(`${candidate}/tests/{test_code}`, 'delete')).toEqual(
      expect.arrayContaining(['204', '400', '403', '404']),
    );
    for (const path of [candidate, `${candidate}/eligibilities`, `${candidate}/tests/{test_code}`])
      expect(statuses(path, 'get')).toEqual(expect.arrayContaining(['200', '400', '401', '403', '404']));
    expect(statuses('/launch/{launch_code}', 'get')).toEqual(expect.arrayContaining(['303', '404', '410']));
  });

  it('the OpenAPI document contains the validation rules of the Eligibility Model', () => {
    expect(schema('EligibilityModel')['required'].sort()).toEqual(['candidate', 'test_code']);
    expect(rule('EligibilityModel', 'test_code')).toEqual({
      type: 'string',
      minLength: 1,
      maxLength: 50,
      pattern: '^[A-Za-z0-9-]+$',
    });
    expect(rule('EligibilityModel', 'client_eligibility_id')).toEqual(
      optionalText({ minLength: 1, maxLength: 20, pattern: '^[A-Za-z0-9._-]+$' }),
    );
    for (const member of ['eligibility_end_date', 'schedule_start_date'])
      expect(rule('EligibilityModel', member)).toEqual(
        optionalText({
          ...{ format: 'date-time', minLength: 20, maxLength: 20 },
          pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$',
        }),
      );
    for (const member of ['portion_codes', 'voucher_codes'])
      expect(rule('EligibilityModel', member)).toEqual({
        type: ['array', 'null'],
        maxItems: 20,
        items: { type: 'string', minLength: 1, maxLength: 50, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$' },
      });
    const mode = new RegExp(rule('EligibilityModel', 'registration_mode')['pattern'] as string);
    expect([mode.test('voiceRESPONSE'), mode.test('Telegraph')]).toEqual([true, false]);
  });

  it('the OpenAPI document contains the validation rules of the Candidate Model', () => {
    expect(schema('CandidateModel')['required'].sort()).toEqual(['candidate_id', 'first_name', 'last_name']);
    const lengths = Object.entries({
      address1: 200,
      address2: 200,
      city: 100,
      province_state: 100,
      postal_code: 20,
      suffix: 20,
      home_phone: 40,
      office_phone: 40,
    });
    for (const [member, maxLength] of lengths)
      expect(rule('CandidateModel', member)).toEqual(
        optionalText({ maxLength, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' }),
      );
    expect(rule('CandidateModel', 'middle_name')).toEqual(
      optionalText({
        minLength: 1,
        maxLength: 100,
        pattern: '^[ \\xa0]*[^\\x00-\\x20\\x7f-\\xa0][^\\x00-\\x1f\\x7f-\\x9f]*$',
      }),
    );
    for (const member of ['first_name', 'last_name'])
      expect(rule('CandidateModel', member)).toEqual({
        type: 'string',
        minLength: 1,
        maxLength: 100,
        pattern: '^[ \\xa0]*[^\\x00-\\x20\\x7f-\\xa0][^\\x00-\\x1f\\x7f-\\x9f]*$',
      });
    expect(rule('CandidateModel', 'country')).toEqual(
      optionalText({ minLength: 2, maxLength: 2, pattern: '^[A-Za-z]{2}$' }),
    );
    expect(rule('CandidateModel', 'email')).toMatchObject({ maxLength: 254, pattern: expect.any(String) });
    expect(rule('CandidateModel', 'candidate_id')).toMatchObject({
      minLength: 1,
      maxLength: 50,
      pattern: expect.any(String),
    });
    expect(rule('CandidateModel', 'special_accommodations')).toMatchObject({ maxItems: 20, items: { maxLength: 50 } });
    expect(rule('CandidateModel', 'additional_attributes')).toMatchObject({ maxItems: 50 });
    expect(rule('CandidateAttribute', 'value')).toMatchObject({ type: 'string', maxLength: 1000 });
  });

  it('the OpenAPI document contains the validation rules of bookings', () => {
    expect(schema('BookingRequest')['required'].sort()).toEqual(['booking_on', 'delivery_mode']);
    expect(rule('BookingRequest', 'delivery_mode')).toEqual({
      type: 'string',
      enum: ['SITE_PROCTORED', 'SVC_REMOTE_PROCTORED'],
    });
    for (const [member, maxLength] of Object.entries({ location_code: 50, location_name: 200, location_address: 500 }))
      expect(rule('BookingRequest', member)).toMatchObject({ type: ['string', 'null'], minLength: 1, maxLength });
    expect(rule('BookingModel', 'status')['enum']).toEqual([
      'BOOKED',
      'CANCELLED',
      'COMPLETED',
      'ABSENT',
      'EXCUSED_ABSENT',
    ]);
  });

  it('the OpenAPI document marks every member of response models as required', () => {
    for (const model of ['EligibilityResponseModel', 'BookingModel', 'TestLaunchInfo'])
      expect([model, [...schema(model)['required']].sort()]).toEqual([
        model,
        Object.keys(schema(model)['properties'] as object).sort(),
      ]);
  });

  it('the OpenAPI document has only examples that its own schemas accept', () => {
    let examples = 0;
    for (const [name, model] of Object.entries(document.components.schemas as Record<string, Schema>))
      for (const [member, property] of Object.entries((model['properties'] ?? {}) as Record<string, Schema>)) {
        if (typeof property['example'] !== 'string') continue;
        examples++;
        const fits =
          (!property['pattern'] || new RegExp(property['pattern'] as string, 'u').test(property['example'])) &&
          property['example'].length >= ((property['minLength'] as number | undefined) ?? 0) &&
          property['example'].length <= ((property['maxLength'] as number | undefined) ?? Infinity);
        expect([name, member, fits]).toEqual([name, member, true]);
      }
    expect(examples).toBeGreaterThan(10);
  });
});
