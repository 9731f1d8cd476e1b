import type { OpenAPIObject } from '@nestjs/swagger';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { catalogueEntries } from '../../src/platform/http/problem-catalogue';

interface Operation {
  method: string;
  template: string;
  pattern: RegExp;
  responses: Record<
    string,
    { content?: Record<string, { schema?: object; examples?: object }>; headers?: Record<string, object> }
  >;
}

export interface Answer {
  status: number;
  headers: Headers;
  /** The body as parsed JSON, or as text if it is not JSON; undefined if the response has no body. */
  body: any;
  text: string;
}

export interface DocumentChecker {
  /**
   * Checks a response against the OpenAPI document.
   * @throws Error when the document has the route, but the response does not match the document
   */
  check(method: string, path: string, answer: Answer): void;
}

/** The headers that any response may have and that the OpenAPI document does not list. */
const UNTOLD = new Set([
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'expires', 'keep-alive', 'pragma'],
  ...['content-security-policy', 'cross-origin-opener-policy', 'cross-origin-resource-policy', 'origin-agent-cluster'],
  ...['referrer-policy', 'strict-transport-security', 'transfer-encoding', 'vary', 'x-content-type-options'],
  ...['x-dns-prefetch-control', 'x-download-options', 'x-frame-options', 'x-permitted-cross-domain-policies'],
  ...['x-xss-protection'],
]);

/**
 * Builds a function that checks responses against the OpenAPI document. The document must contain the status of the
 * response, and the body must match the schema for this status.
 */
export function documentChecker(document: OpenAPIObject): DocumentChecker {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  // The ajv-formats package lacks the `iri` format.
  ajv.addFormat('iri', true);
  ajv.addSchema({ $id: 'openapi', components: document.components as object });
  const validators = new Map<object, ValidateFunction>();
  const operations = operationsOf(document);
  const headers = new Map(
    Object.entries(document.components!.headers ?? {}).map(([name, header]) => {
      const { schema } = header as { schema: { type: string } };
      return [name.toLowerCase(), { isNumber: schema.type === 'integer', fits: ajv.compile(schema) }];
    }),
  );
  const fitsHeader = (name: string, value: string) => {
    const { isNumber, fits } = headers.get(name)!;
    return fits(isNumber ? Number(value) : value);
  };

  return {
    check(method, path, answer) {
      const plain = path.split('?', 1)[0];
      const operation = operations.find((known) => known.method === method && known.pattern.test(plain));
      // Unknown routes, wrong methods and malformed paths are skipped, because the document does not contain them.
      if (!operation) return;
      assertCodesKnown(answer);
      const where = `${method} ${operation.template} ${answer.status}`;
      const response = operation.responses[String(answer.status)];
      if (!response) throw new Error(`${where} is not in the OpenAPI document.`);
      const told = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
      for (const name of answer.headers.keys())
        if (!UNTOLD.has(name) && !told.includes(name))
          throw new Error(`${where} has no header ${name} in the OpenAPI document.`);
      for (const [name, value] of answer.headers)
        if (told.includes(name) && !fitsHeader(name, value))
          throw new Error(`${where} breaks the OpenAPI document: its header ${name} is ${value.slice(0, 200)}`);
      const type = answer.headers.get('content-type')?.split(';')[0];
      assertPlaced(where, type, response, answer);
      const schema = type ? response.content?.[type]?.schema : undefined;
      if (answer.text === '') return;
      if (!schema) throw new Error(`${where} has no schema for ${type} in the OpenAPI document.`);
      let validate = validators.get(schema);
      if (!validate) validators.set(schema, (validate = ajv.compile(absoluteReferences(schema))));
      if (!validate(answer.body))
        throw new Error(
          `${where} breaks the OpenAPI document: ${ajv.errorsText(validate.errors)} in ${answer.text.slice(0, 500)}`,
        );
    },
  };
}

/** Checks that the document has an example of the problem for this operation (src/openapi/problem-places.ts). */
function assertPlaced(
  where: string,
  type: string | undefined,
  { content }: Operation['responses'][string],
  { body }: Answer,
) {
  if (type !== 'application/problem+json') return;
  const placed = Object.keys(content?.[type]?.examples ?? {});
  const { code } = body as { code: string };
  if (!placed.includes(code)) throw new Error(`${where} is not told to answer ${code} by the OpenAPI document.`);
}

/** Checks that the error catalogue contains each fault code in the body. */
function assertCodesKnown({ body }: Answer): void {
  const errors = (body as { errors?: { code: string }[] } | undefined)?.errors;
  if (!Array.isArray(errors)) return;
  const known = new Set(catalogueEntries().map((entry) => entry.code));
  const unknown = errors.filter(({ code }) => code !== undefined && !known.has(code));
  if (unknown.length > 0) throw new Error(`Not in the error catalogue: ${unknown.map(({ code }) => code).join()}.`);
}

function operationsOf(document: OpenAPIObject): Operation[] {
  const operations = Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([, operation]) => typeof operation === 'object' && operation !== null && 'responses' in operation)
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        pattern: new RegExp(`^${template.replaceAll(/[.]/g, '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
        responses: (operation as Operation).responses,
      })),
  );
  // Path templates with fewer parameters come first, because fixed segments take precedence over parameters.
  return operations.sort((a, b) => (a.template.match(/\{/g)?.length ?? 0) - (b.template.match(/\{/g)?.length ?? 0));
}

function absoluteReferences(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as object;
}
