import type { OpenAPIObject } from '@nestjs/swagger';

/** A JSON Schema or a part of a schema. The keys of the object are the keywords of the schema. */
type Schema = Record<string, unknown>;

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const REFERENCE = /^#\/components\/schemas\/([^/]+)$/;
export const SCHEMAS = '/openapi/schemas';

const schemasOf = (document: OpenAPIObject) => (document.components?.schemas ?? {}) as Record<string, Schema>;
const addressOf = (baseUrl: string, name: string) => `${baseUrl}${SCHEMAS}/${name}.json`;

/** Returns the name and the address of each schema in the document. */
export function schemaList(document: OpenAPIObject, baseUrl: string): { name: string; address: string }[] {
  return Object.keys(schemasOf(document)).map((name) => ({ name, address: addressOf(baseUrl, name) }));
}

/**
 * Returns a schema of the OpenAPI document as a self-contained JSON Schema (2020-12), whose `$defs` contain the schemas
 * that it references. Returns null if no schema has that name.
 */
export function standaloneSchema(document: OpenAPIObject, name: string, baseUrl: string): Schema | null {
  const schemas = schemasOf(document);
  if (!Object.hasOwn(schemas, name)) return null;
  const needed = new Set<string>();
  const own = standalone(schemas[name], name, needed) as Schema;
  const definitions: Schema = {};
  // Iterating over the set also visits the names of schemas that are added during the iteration.
  for (const other of needed) definitions[other] = standalone(schemas[other], name, needed);
  return {
    $schema: DIALECT,
    $id: addressOf(baseUrl, name),
    title: name,
    ...own,
    ...(needed.size > 0 && { $defs: definitions }),
  };
}

/** Converts an OpenAPI schema to JSON Schema: `example` becomes `examples`. */
function standalone(value: unknown, root: string, needed: Set<string>, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => standalone(one, root, needed));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]): [string, unknown] => {
      // The keys of `properties` are names of members rather than keywords of JSON Schema.
      if (isNames) return [key, standalone(member, root, needed)];
      if (key === 'example') return ['examples', [member]];
      if (['enum', 'const', 'default', 'examples'].includes(key)) return [key, member];
      const [, name] = key === '$ref' ? (REFERENCE.exec(String(member)) ?? []) : [];
      if (name === root) return [key, '#'];
      if (name !== undefined) {
        needed.add(name);
        return [key, `#/$defs/${name}`];
      }
      return [key, standalone(member, root, needed, key === 'properties')];
    }),
  );
}
