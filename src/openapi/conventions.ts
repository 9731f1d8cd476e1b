import type { OpenAPIObject } from '@nestjs/swagger';
import { problemCatalogue } from '../platform/errors.js';
import { catalogueEntries } from '../platform/http/problem-catalogue.js';

/** The parts of a documented response that the functions in this file read or change. */

interface Answer {
  description?: string;
  content?: object;
}
interface Operation {
  responses: Record<string, Answer>;
  parameters?: { schema?: { nullable?: boolean; type?: string | string[]; enum?: unknown[] } }[];
}

const CHECKS_QUERY = /^\/(accounts|admin|partner)(\/|$)/;

function operationsOf(document: OpenAPIObject): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.values(item as Record<string, Operation>).map((operation): [string, Operation] => [path, operation]),
  );
}

/**
 * Documents the status 400 for unknown query parameters on every route below `/accounts` and `/admin`. Also removes
 * repeated descriptions: if several decorators declare the same response, @nestjs/swagger joins their descriptions.
 */
export function completeAnswers(document: OpenAPIObject): void {
  for (const [path, { responses }] of operationsOf(document)) {
    const { '401': like } = responses;
    if (CHECKS_QUERY.test(path) && responses['400'] === undefined && like !== undefined)
      responses['400'] = {
        ...structuredClone(like),
        description: 'The request is not valid. `errors` lists every error.',
      };
    for (const answer of Object.values(responses))
      answer.description = [...new Set(answer.description?.split('\n\n') ?? [])].join('\n\n');
  }
}

/** Removes the type null from query and path parameters, which are either present or absent. */
export function withoutNullParameters(document: OpenAPIObject): void {
  for (const [, { parameters = [] }] of operationsOf(document))
    for (const { schema = {} } of parameters) {
      delete schema.nullable;
      if (Array.isArray(schema.type)) [schema.type] = schema.type.filter((type) => type !== 'null');
      if (schema.enum) schema.enum = schema.enum.filter((value) => value !== null);
    }
}

/** Lists the codes of the error catalogue in the schemas of error responses. */
export function nameCodes(document: OpenAPIObject): void {
  const models = document.components?.schemas as Record<
    string,
    { properties: Record<string, { enum?: string[] } | undefined> }
  >;
  const name = (model: string, codes: string[]) => {
    const code = models[model]?.properties['code'];
    if (code) models[model].properties['code'] = { ...code, enum: codes };
  };
  name(
    'ErrorModel',
    problemCatalogue().map(({ code }) => code),
  );
  name(
    'ErrorModelFault',
    catalogueEntries().map(({ code }) => code),
  );
}
