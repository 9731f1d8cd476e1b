import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { problemCatalogue } from '../../src/platform/errors';
import '../../src/app.module';

/** The tests in this file check docs/openapi.json. test/http/routes.e2e.ts compares this document with the code. */
type Json = Record<string, any>;
const text = readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8');
const document = JSON.parse(text) as Json;

const operations = Object.entries(document['paths'] as Record<string, Json>).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    operation: operation as Json,
  })),
);
const answers = operations.flatMap(({ name, operation }) =>
  Object.entries(operation['responses'] as Record<string, Json>).flatMap(([status, { content = {} }]) =>
    Object.entries(content as Record<string, Json>).map(([type, media]) => ({ name, status, type, media })),
  ),
);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
// The ajv-formats package lacks the `iri` format.
ajv.addFormat('iri', true);
ajv.addSchema({ $id: 'openapi', components: document['components'] as object });
const absolute = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as object;
const compiled = new Map<string, ValidateFunction>();
function faultsOf(schema: object, value: unknown): string[] {
  const key = JSON.stringify(schema);
  const validate = compiled.get(key) ?? ajv.compile(absolute(schema));
  compiled.set(key, validate);
  return validate(value) ? [] : [ajv.errorsText(validate.errors)];
}
const resolved = (example: Json): Json =>
  '$ref' in example
    ? (document['components'].examples[(example['$ref'] as string).split('/').at(-1)!] as Json)
    : example;

describe('the names of operations', () => {
  const ids = operations.map(({ name, operation }) => `${operation['operationId'] as string} ${name}`);

  it('the OpenAPI document has unique operation ids, which contain no class names', () => {
    const names = ids.map((line) => line.split(' ')[0]);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z][A-Za-z]+$/.test(name))).toEqual([]);
  });

  it('the OpenAPI document has exactly the operation ids that operation-ids.txt lists', () => {
    const list = readFileSync(join(__dirname, '../fixtures/operation-ids.txt'), 'utf8').trim().split('\n');
    expect(ids.sort()).toEqual(list.sort());
  });
});

describe('the members of problems', () => {
  it('ErrorModel in the OpenAPI document declares every extension member of the problems', () => {
    const declared = Object.keys(document['components'].schemas.ErrorModel.properties as object);
    const used = problemCatalogue().flatMap(({ code, members = [] }) =>
      members.map((member) => [code, member] as const),
    );
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter(([, member]) => !declared.includes(member))).toEqual([]);
  });
});

describe('the parameters and members of the OpenAPI document', () => {
  it('the OpenAPI document describes every parameter and member', () => {
    const parameters = operations.flatMap(({ name, operation }) =>
      ((operation['parameters'] ?? []) as Json[])
        .filter(({ description }) => description === undefined)
        .map((parameter) => `${name} ${parameter['name'] as string}`),
    );
    const members = Object.entries(document['components'].schemas as Record<string, Json>).flatMap(
      ([model, { properties = {} }]) =>
        Object.entries(properties as Record<string, Json>)
          .filter(([, { description }]) => description === undefined)
          .map(([member]) => `${model}.${member}`),
    );
    expect([...parameters, ...members]).toEqual([]);
  });

  it('the OpenAPI document describes each parameter and each member exactly once', () => {
    const doubled: string[] = [];
    JSON.stringify(document, (key, value: unknown) => {
      if (key === 'description' && typeof value === 'string' && /(.{12,}?)\s+\1/s.test(value)) doubled.push(value);
      return value;
    });
    expect(doubled).toEqual([]);
  });

  it('the OpenAPI document does not allow null for any query parameter', () => {
    const nullable = operations.flatMap(({ name, operation }) =>
      ((operation['parameters'] ?? []) as Json[])
        .filter((parameter) => JSON.stringify(parameter).includes('"null"'))
        .map((parameter) => `${name} ${parameter['name'] as string}`),
    );
    expect(nullable).toEqual([]);
  });
});

describe('every response', () => {
  it('the OpenAPI document has an example of every response with a body, or one example for each problem code', () => {
    const without = answers.filter(
      ({ media }) => media['example'] === undefined && Object.keys((media['examples'] ?? {}) as Json).length === 0,
    );
    expect(without.map(({ name, status, type }) => `${name} ${status} ${type}`)).toEqual([]);
  });

  it('every example of a response in the OpenAPI document matches its schema', () => {
    const faults = answers.flatMap(({ name, status, media }) => {
      const examples = [
        ...('example' in media ? [media['example'] as unknown] : []),
        ...Object.values((media['examples'] ?? {}) as Record<string, Json>).map(
          (one) => resolved(one)['value'] as unknown,
        ),
      ];
      return examples.flatMap((example) =>
        faultsOf(media['schema'] as object, example).map((fault) => `${name} ${status}: ${fault}`),
      );
    });
    expect(faults).toEqual([]);
    // This invalid example shows that the check of examples can find errors.
    expect(faultsOf({ $ref: '#/components/schemas/ErrorModel' }, { status: 'x' })).toHaveLength(1);
  });

  it('the OpenAPI document lists status 400 for malformed requests on every route below /accounts and /admin', () => {
    const silent = operations.filter(
      ({ name, operation }) => / \/(accounts|admin)\//.test(name) && operation['responses']['400'] === undefined,
    );
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it('the OpenAPI document lists the headers that every response has', () => {
    const silent = operations.flatMap(({ name, operation }) =>
      Object.entries(operation['responses'] as Record<string, Json>)
        .filter(([, { headers = {} }]) => !('X-Request-Id' in headers) || !('RateLimit' in headers))
        .map(([status]) => `${name} ${status}`),
    );
    expect(silent).toEqual([]);
  });
});

it('the OpenAPI document lists every problem code in the catalogue, except those of unknown routes, the sandbox and import rows', () => {
  const placed = new Set(answers.flatMap(({ media }) => Object.keys((media['examples'] ?? {}) as Json)));
  const nowhere = problemCatalogue()
    .map(({ code }) => code)
    .filter((code) => !placed.has(code));
  expect(nowhere.sort()).toEqual(['event_not_possible', 'headers_too_large', 'method_not_allowed', 'record_differs']);
});

it('the OpenAPI document declares in ErrorModel every member that a problem in the catalogue may have', () => {
  const declared = Object.keys(document['components'].schemas.ErrorModel.properties as Json);
  const carried = problemCatalogue().flatMap(({ members }) => [...members]);
  expect(carried.length).toBeGreaterThan(5);
  expect(carried.filter((member) => !declared.includes(member))).toEqual([]);
});
