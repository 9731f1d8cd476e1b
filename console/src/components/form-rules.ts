import schemas from 'virtual:field-rules';
import type { Schemas } from '../api/client';

/** The JSON Schema keywords that the console's forms use. */
export interface FieldRule {
  type?: string | string[];
  enum?: (string | null)[];
  const?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  description?: string;
  items?: FieldRule;
  properties?: Record<string, FieldRule>;
  required?: string[];
  allOf?: FieldRule[];
  anyOf?: FieldRule[];
  oneOf?: FieldRule[];
  $ref?: string;
}

export interface KnownRule extends FieldRule {
  isRequired: boolean;
}

export type SchemaName = keyof Schemas;

/**
 * Returns the validation rule for a member of a request body. The path names the member, for example `auth/token`. An
 * unknown path is a programming error.
 */
export function ruleOf(schema: SchemaName, path: string): KnownRule {
  let places = alternativesOf({ $ref: `#/components/schemas/${schema}` });
  let isRequired = false;
  for (const name of path.split('/')) {
    const holder = places.find(({ properties }) => properties?.[name] !== undefined);
    if (holder === undefined) throw new Error(`${schema} has no member ${path}`);
    isRequired = holder.required?.includes(name) ?? false;
    places = alternativesOf(holder.properties![name]);
  }
  const [rule = {}] = places.filter(({ type }) => type !== 'null');
  return { ...rule, isRequired };
}

/** Returns the names of a schema's members with their descriptions. */
export function membersOf(schema: SchemaName): (readonly [name: string, description: string])[] {
  const [{ properties = {} }] = alternativesOf({ $ref: `#/components/schemas/${schema}` });
  return Object.entries(properties).map(([name, { description = '' }]) => [name, description]);
}

export function kindOf({ type, enum: values }: FieldRule): 'text' | 'number' | 'boolean' | 'list' | 'choice' {
  const [kind] = [type ?? 'string'].flat().filter((name) => name !== 'null');
  if (kind === 'array') return 'list';
  if (kind === 'boolean') return 'boolean';
  if (values !== undefined) return 'choice';
  return kind === 'integer' || kind === 'number' ? 'number' : 'text';
}

export type FieldValue = string | boolean | string[];

/**
 * Returns a message if the value of a field is invalid. The console checks the value before it sends the request. The
 * service then validates the whole request.
 */
export function faultOf(rule: KnownRule, value: FieldValue): string | undefined {
  if (typeof value === 'boolean') return undefined;
  if (Array.isArray(value)) {
    if (value.length < (rule.minItems ?? (rule.isRequired ? 1 : 0))) return 'Choose at least one.';
    if (value.length > (rule.maxItems ?? Infinity)) return `At most ${rule.maxItems}.`;
    return value.map((item) => faultOf({ ...rule.items, isRequired: true }, item)).find(Boolean);
  }
  if (value === '') return rule.isRequired ? 'Required.' : undefined;
  if (kindOf(rule) === 'number') return faultOfNumber(rule, Number(value));
  if (value.length < (rule.minLength ?? 0)) return `At least ${rule.minLength} characters.`;
  if (value.length > (rule.maxLength ?? Infinity)) return `At most ${rule.maxLength} characters.`;
  if (rule.pattern !== undefined && !new RegExp(rule.pattern).test(value))
    return rule.description ?? 'The value has the wrong format or contains characters that are not allowed.';
  return undefined;
}

function faultOfNumber(
  { minimum = -Infinity, maximum = Infinity, type }: FieldRule,
  value: number,
): string | undefined {
  if (Number.isNaN(value)) return 'Enter a number.';
  if ([type].flat().includes('integer') && !Number.isInteger(value)) return 'Enter a whole number.';
  if (value < minimum) return `At least ${minimum}.`;
  if (value > maximum) return `At most ${maximum}.`;
  return undefined;
}

function alternativesOf(rule: FieldRule): FieldRule[] {
  if (rule.$ref !== undefined) {
    const { $ref, ...own } = rule;
    return alternativesOf({ ...(schemas[$ref.split('/').pop()!] as FieldRule), ...own });
  }
  const inner = rule.allOf ?? rule.anyOf ?? rule.oneOf;
  return inner === undefined
    ? [rule]
    : inner.flatMap(alternativesOf).map((each) => ({ ...each, ...descriptionOf(rule) }));
}

function descriptionOf({ description }: FieldRule): FieldRule {
  return description === undefined ? {} : { description };
}
