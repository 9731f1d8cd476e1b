import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { parseUrl } from '../../src/platform/urls';

/** The part of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

const LONGEST_TEXT = 60;
const MOST_ITEMS = 3;
/** Values of all JSON types. They replace valid values to make invalid inputs. */
const MISFITS = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  '',
  ' ',
  'x',
  '\u0000',
  '😀',
  'x'.repeat(1100),
  [],
  [null],
  {},
  { a: 1 },
];

/** Generates inputs from the schemas of a document. Some inputs are valid, and the others are nearly valid. */
export class SchemaInputs {
  private readonly ajv = new Ajv2020({ strict: false });

  constructor(private readonly schemas: Record<string, Schema>) {
    addFormats(this.ajv);
    this.ajv.addFormat('iri', (text) => parseUrl(text) !== null);
    this.ajv.addSchema({ $id: 'openapi', components: { schemas } });
  }

  fits(schema: Schema, value: unknown): boolean {
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')) as object;
    return this.ajv.validate(absolute, value);
  }

  /** Generates valid values. */
  fitting(schema: Schema): fc.Arbitrary<unknown> {
    return this.drafted(schema).filter((value) => this.fits(schema, value));
  }

  /**
   * Generates variants of the example. Some members are replaced with other valid values, and some members are added.
   */
  around(schema: Schema, example: unknown): fc.Arbitrary<unknown> {
    const { properties } = this.resolved(schema);
    if (properties === undefined || typeof example !== 'object' || example === null || Array.isArray(example))
      return fc.oneof({ weight: 2, arbitrary: fc.constant(example) }, { weight: 1, arbitrary: this.fitting(schema) });
    const members = Object.entries(properties).map(([name, member]): [string, fc.Arbitrary<unknown>] => {
      const given = (example as Record<string, unknown>)[name];
      return given === undefined
        ? [
            name,
            fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: this.fitting(member) }),
          ]
        : [
            name,
            fc.oneof(
              { weight: 5, arbitrary: fc.constant(given) },
              { weight: 1, arbitrary: this.around(member, given) },
            ),
          ];
    });
    return fc.record(Object.fromEntries(members));
  }

  /** Generates values in which one member is missing, is unknown, or has a value that is almost certainly invalid. */
  spoilt(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
    return fc
      .tuple(values, fc.nat(), fc.constantFrom('exchange', 'exchange', 'leave out', 'add'), fc.constantFrom(...MISFITS))
      .map(([value, at, how, misfit]) => {
        const copy = structuredClone(value);
        const places = placesIn(copy);
        if (places.length === 0) return misfit;
        const [holder, name] = places[at % places.length];
        if (how === 'exchange') holder[name] = misfit;
        else if (how === 'leave out') delete holder[name];
        else holder['no_such_member'] = misfit;
        return copy;
      });
  }

  private resolved(schema: Schema): Schema {
    const { $ref, allOf } = schema;
    if ($ref !== undefined) return this.resolved(this.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
    return allOf?.length === 1 ? this.resolved(allOf[0]) : schema;
  }

  private drafted(schema: Schema): fc.Arbitrary<unknown> {
    const plain = this.resolved(schema);
    const choices = plain.anyOf ?? plain.oneOf;
    if (choices) return fc.oneof(...choices.map((choice) => this.drafted(choice)));
    if ('const' in plain) return fc.constant(plain.const);
    if (plain.enum) return fc.constantFrom(...plain.enum);
    const types = [plain.type ?? 'string'].flat();
    return fc.oneof(...types.map((type) => this.ofType(type, plain)));
  }

  private ofType(type: string, schema: Schema): fc.Arbitrary<unknown> {
    const { minimum = -1000, maximum = 1000, minItems = 0, maxItems = MOST_ITEMS, items = {} } = schema;
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return fc.integer({ min: minimum, max: Math.max(minimum, maximum) });
      case 'number':
        return fc.double({ min: minimum, max: maximum, noNaN: true });
      case 'array':
        return fc.array(this.drafted(items), { minLength: minItems, maxLength: Math.min(maxItems, MOST_ITEMS) });
      case 'object':
        return fc.record(
          Object.fromEntries(
            Object.entries(schema.properties ?? {}).map(([name, member]) => [name, this.drafted(member)]),
          ),
          { requiredKeys: schema.required ?? [] },
        );
      default:
        return textOf(schema);
    }
  }
}

function textOf({ format, pattern, minLength = 0, maxLength = LONGEST_TEXT }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true })
      .map((date) => `${date.toISOString().slice(0, 19)}Z`);
  if (format === 'uri' || format === 'iri') return fc.webUrl({ validSchemes: ['https', 'http'] });
  if (pattern !== undefined)
    return fc
      .stringMatching(new RegExp(pattern), { size: 'small' })
      .filter((text) => [...text].length >= minLength && [...text].length <= maxLength);
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, LONGEST_TEXT)) });
}

type Holder = Record<string | number, unknown>;

/** Returns every nested member and list item of a value, with the object or list that contains it. */
function placesIn(value: unknown): [Holder, string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(
    ([name, member]) => [[value as Holder, name], ...placesIn(member)] as [Holder, string][],
  );
}
