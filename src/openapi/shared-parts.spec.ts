import type { OpenAPIObject } from '@nestjs/swagger';
import document from '../../docs/openapi.json';
import { withSharedParts } from './shared-parts.js';

const original = document as unknown as OpenAPIObject;
const shared = withSharedParts(original) as any;
const operationsOf = (one: any): any[] => Object.values(one.paths).flatMap((item: any) => Object.values(item));
const resolve = ({ $ref }: { $ref: string }) =>
  $ref
    .split('/')
    .slice(1)
    .reduce((part, name) => part[name], shared);

it('the document with shared parts describes the same operations as the document without', () => {
  const resolved = operationsOf(shared).map((operation) => ({
    ...operation,
    ...(operation.parameters && { parameters: operation.parameters.map(resolve) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, one]) => [status, resolve(one as { $ref: string })]),
    ),
  }));
  expect(resolved).toEqual(operationsOf(original));
});

it('the document with shared parts has each parameter and each response once, and is about half as long', () => {
  for (const kind of ['parameters', 'responses']) {
    const texts = Object.values(shared.components[kind]).map((part) => JSON.stringify(part));
    expect(new Set(texts).size).toBe(texts.length);
  }
  expect(JSON.stringify(shared).length).toBeLessThan(0.6 * JSON.stringify(original).length);
});
