import type { OpenAPIObject } from '@nestjs/swagger';
import { INVENTED, OF_OPERATIONS, TEXTS, values } from './answer-values.js';
import type { Surroundings } from './examples.js';

/** The keywords of JSON Schema that the OpenAPI document uses. */
interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  nullable?: boolean;
  enum?: readonly unknown[];
  example?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: object;
}

/**
 * Adds an example to every response with a body, except error responses. Each example conforms to the schema of its
 * response.
 */
export function addAnswers(document: OpenAPIObject, surroundings: Surroundings): void {
  const models = (document.components?.schemas ?? {}) as Record<string, Schema>;
  const examples = new Examples(models, values(surroundings));
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, { responses }] of Object.entries(item) as [
      string,
      { responses: Record<string, { content?: Record<string, Media> }> },
    ][])
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const [type, media] of Object.entries(content)) {
          const name = `${method.toUpperCase()} ${path}`;
          if (type === 'application/json' && (Number(status) < 400 || path.startsWith('/health/'))) {
            const stated = OF_OPERATIONS[`${name} ${status}`] ?? OF_OPERATIONS[name] ?? {};
            media.example = merged(examples.of(media.schema ?? {}), stated);
          } else if (TEXTS[name] !== undefined && type !== 'application/problem+json' && Number(status) < 400)
            media.example = TEXTS[name];
          else if (type === 'text/html') media.example = TEXTS['text/html'];
        }
}

function merged(example: unknown, stated: Record<string, unknown>): unknown {
  if (Array.isArray(example)) return example.map((one) => merged(one, stated));
  return typeof example === 'object' && example !== null ? { ...example, ...stated } : example;
}

/**
 * Builds an example for a schema. The example of a member is looked up by model and member name, and then by member
 * name alone. If neither exists, the example is derived from the member's schema.
 */
class Examples {
  constructor(
    private readonly models: Record<string, Schema>,
    private readonly values: Record<string, unknown>,
  ) {}

  of(schema: Schema, name = '', model = ''): unknown {
    if (schema.$ref !== undefined) return this.ofModel(schema.$ref.split('/').at(-1)!);
    const invented = (INVENTED as Record<string, Record<string, unknown>>)[model];
    if (invented && name in invented) return invented[name];
    if (name in this.values && this.fits(this.values[name], schema)) return this.values[name];
    if ('example' in schema && this.fits(schema.example, schema)) return schema.example;
    const [first] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
    if (first !== undefined) return this.of(first, name, model);
    if (schema.enum !== undefined) return isNullable(schema) ? null : schema.enum[0];
    if (schema.properties !== undefined) return this.ofProperties(schema.properties, model);
    if (isNullable(schema)) return null;
    return this.plain(schema, model);
  }

  private ofModel(model: string): unknown {
    return this.ofProperties(this.models[model].properties ?? {}, model);
  }

  private ofProperties(properties: Record<string, Schema>, model: string): object {
    return Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, this.of(property, name, model)]),
    );
  }

  private plain(schema: Schema, model: string): unknown {
    switch (schema.type) {
      case 'string':
        return 'text'.padEnd(schema.minLength ?? 0, 't').slice(0, schema.maxLength);
      case 'integer':
      case 'number':
        return Math.max(schema.minimum ?? 0, 0);
      case 'boolean':
        return false;
      case 'array': {
        const one = schema.items === undefined ? undefined : this.of(schema.items, '', model);
        const least = schema.minItems ?? 0;
        return Array<unknown>(Math.max(least, schema.items?.$ref === undefined ? 0 : 1)).fill(one);
      }
      default:
        return {};
    }
  }

  /** Returns whether the value conforms to the schema. The members of objects are not checked. */
  private fits(value: unknown, schema: Schema): boolean {
    if (schema.$ref !== undefined) return typeof value === 'object' && !Array.isArray(value);
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives !== undefined) return alternatives.some((one) => this.fits(value, one));
    if (value === null) return isNullable(schema);
    if (schema.enum !== undefined && !schema.enum.includes(value)) return false;
    const types: readonly unknown[] = [schema.type].flat();
    if (typeof value === 'string')
      return (
        types.includes('string') &&
        value.length >= (schema.minLength ?? 0) &&
        value.length <= (schema.maxLength ?? Infinity) &&
        (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value))
      );
    if (typeof value === 'number')
      return (
        (types.includes('integer') || types.includes('number')) &&
        value >= (schema.minimum ?? -Infinity) &&
        value <= (schema.maximum ?? Infinity)
      );
    if (typeof value === 'boolean') return types.includes('boolean');
    if (Array.isArray(value))
      return (
        types.includes('array') && value.every((one) => schema.items === undefined || this.fits(one, schema.items))
      );
    return types.includes('object') || schema.properties !== undefined;
  }
}

function isNullable({ nullable, type }: Schema): boolean {
  return nullable === true || (Array.isArray(type) && type.includes('null'));
}
