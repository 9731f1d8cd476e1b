import { applyDecorators } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { fault, listOf, type Rule } from './rules.js';

const DECLARED = Symbol('declared fields');
const READ_ONLY_MEMBERS = Symbol('read-only members');
const TOLERANT_READER = Symbol('tolerant reader');

export type Dto<T extends object = object> = new () => T;

/** A rule for a member in combination with other members of its object. */
interface Agreement<Body = never> {
  readonly code: string;
  readonly detail: string;
  /** Called when the member is given. The members of the body may still have any type. */
  holds(body: Body): boolean;
}

/** A member as declared by its decorator. */
export interface DeclaredField {
  readonly name: string;
  /** The rules of the member's own value. */
  readonly rules: readonly Rule[];
  /** The class of nested objects. */
  readonly nested: (() => Dto) | null;
  readonly required: boolean;
  /** Whether the member may be omitted but not null. */
  readonly notNull: boolean;
  readonly agreements: readonly Agreement<Record<string, unknown>>[];
}

/** Everything that a class declares about its members. */
export interface Form {
  /** The members of the class and its ancestors, by name. */
  readonly fields: ReadonlyMap<string, DeclaredField>;
  /** Members that only the service sets: they are accepted and ignored. */
  readonly readOnly: ReadonlySet<string>;
  /** Whether unknown members are kept rather than refused. */
  readonly isTolerant: boolean;
}

const forms = new Map<Dto, Form>();

/** Returns the form of a class, cached per class. */
export function formOf(dto: Dto): Form {
  let form = forms.get(dto);
  if (form === undefined) {
    form = {
      fields: new Map(declaredFields(dto).map((field) => [field.name, field])),
      readOnly: new Set(Reflect.getMetadata(READ_ONLY_MEMBERS, dto) as string[] | undefined),
      isTolerant: Reflect.getMetadata(TOLERANT_READER, dto) === true,
    };
    forms.set(dto, form);
  }
  return form;
}

function declaredFields(dto: Dto): readonly DeclaredField[] {
  return (Reflect.getMetadata(DECLARED, dto.prototype as object) as DeclaredField[] | undefined) ?? [];
}

/** Returns a class with the members of both. */
export function joined<A extends object, B extends object>(first: Dto<A>, second: Dto<B>): Dto<A & B> {
  const both = IntersectionType(first, second);
  Reflect.defineMetadata(DECLARED, [...declaredFields(first), ...declaredFields(second)], both.prototype as object);
  return both as Dto<A & B>;
}

/** Declares members that only the service sets: a body of this class may contain them, and they are ignored. */
export const ReadOnlyMembers =
  (...names: string[]) =>
  (target: Dto): void =>
    Reflect.defineMetadata(READ_ONLY_MEMBERS, names, target);

/**
 * Declares that unknown members are kept in bodies of this class. Such a body is checked in place rather than copied,
 * because it may be large, and is stored as received.
 */
export const TolerantReader =
  () =>
  (target: Dto): void =>
    Reflect.defineMetadata(TOLERANT_READER, true, target);

interface FieldOptions<Body = never> {
  required?: boolean;
  /** For a change: the member may be omitted but not cleared. */
  notNull?: boolean;
  /** For an answer: the member is always present, although it may be null. */
  always?: boolean;
  description?: string;
  example?: unknown;
  agreements?: readonly Agreement<Body>[];
  /** A further rule of the value. */
  and?: Rule;
}

function declare(
  rule: Rule,
  nested: (() => Dto) | null,
  { required = false, notNull = required, agreements = [], and }: FieldOptions,
): PropertyDecorator {
  return (target, name) =>
    Reflect.defineMetadata(
      DECLARED,
      [
        ...declaredFields(target.constructor as Dto),
        {
          name: String(name),
          rules: and === undefined ? [rule] : [rule, and],
          nested,
          required,
          notNull,
          agreements,
        },
      ],
      target,
    );
}

/** Joins the member's description with the part of its rule that no pattern can express. */
function withDescription({ description }: { description?: string }, own: string): string {
  return description === undefined ? own : `${own} ${description}`;
}

/**
 * Builds the member's schema for the OpenAPI document: `nullable` is OpenAPI 3.0's; documents.ts converts it to 3.1.
 */
function documented(
  schema: object,
  { required = false, notNull = required, always = required, description, example, and }: FieldOptions,
): PropertyDecorator {
  return ApiProperty({
    ...schema,
    ...and?.schema,
    ...(description === undefined ? {} : { description: withDescription(schema, description) }),
    ...(example === undefined ? {} : { example }),
    required: always,
    ...(notNull ? {} : { nullable: true }),
  });
}

/**
 * Declares a member of a request body, path or query: one rule serves the check and OpenAPI alike. Optional members may
 * be null or omitted.
 */
export function Field<Body = never>(rule: Rule, options: FieldOptions<Body> = {}): PropertyDecorator {
  return applyDecorators(declare(rule, null, options), documented(rule.schema, options));
}

/** Declares a nested object, checked by its own class. */
export function ObjectField(type: () => Dto, options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(declare(anObject, type, options), documented({ type: () => type() }, options));
}

/** Declares an array of nested objects. */
export function ObjectListField(type: () => Dto, maxItems: number, options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(
    declare(listOf(anObject, maxItems), type, options),
    documented({ type: () => type(), isArray: true, maxItems }, options),
  );
}

const anObject: Rule = {
  schema: {},
  faults: (value) => (isObject(value) ? [] : [fault('type_invalid', 'Must be an object.')]),
};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
