import { applyDecorators } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { fault, listOf, type Rule } from './rules.js';

const DECLARED = Symbol('declared fields');
const READ_ONLY_MEMBERS = Symbol('read-only members');
const TOLERANT_READER = Symbol('tolerant reader');

export type Dto<T extends object = object> = new () => T;

/** The rule of a member together with others of its object. */
interface Agreement<Body = never> {
  readonly code: string;
  readonly detail: string;
  /** Asked when the member is given. The members of the body may have any type yet. */
  holds(body: Body): boolean;
}

/** A member as its decorator declares it. */
export interface DeclaredField {
  readonly name: string;
  /** The rules of its own value. */
  readonly rules: readonly Rule[];
  /** The class of the objects in it. */
  readonly nested: (() => Dto) | null;
  readonly required: boolean;
  /** It may be left out, but has no empty value: null is a fault. */
  readonly notNull: boolean;
  readonly agreements: readonly Agreement<Record<string, unknown>>[];
}

/** All that a class says of its members. */
export interface Form {
  /** Those of the class and its ancestors, by name. */
  readonly fields: ReadonlyMap<string, DeclaredField>;
  /** Members that only the service sets: accepted and without effect. */
  readonly readOnly: ReadonlySet<string>;
  /** Unknown members are kept, never refused. */
  readonly isTolerant: boolean;
}

const forms = new Map<Dto, Form>();

/** Read once for each class. */
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

/** A class with the members of both. */
export function joined<A extends object, B extends object>(first: Dto<A>, second: Dto<B>): Dto<A & B> {
  const both = IntersectionType(first, second);
  Reflect.defineMetadata(DECLARED, [...declaredFields(first), ...declaredFields(second)], both.prototype as object);
  return both as Dto<A & B>;
}

/** Members of the resource that only the service sets: accepted in a body of this class and without effect. */
export const ReadOnlyMembers =
  (...names: string[]) =>
  (target: Dto): void =>
    Reflect.defineMetadata(READ_ONLY_MEMBERS, names, target);

/**
 * Unknown members are kept in bodies of this class, never refused. Such a body is judged where it stands and not copied:
 * it may be large, and what is kept of it is what came.
 */
export const TolerantReader =
  () =>
  (target: Dto): void =>
    Reflect.defineMetadata(TOLERANT_READER, true, target);

interface FieldOptions<Body = never> {
  required?: boolean;
  /** Of a change: it may be left out, but not cleared. */
  notNull?: boolean;
  /** Of an answer: never left out, although it may be null. */
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

/** The description of the member, then the part of its rule that no pattern can express. */
function withDescription({ description }: { description?: string }, own: string): string {
  return description === undefined ? own : `${own} ${description}`;
}

/** The schema of the member in the OpenAPI document: `nullable` is OpenAPI 3.0's; documents.ts writes it the way of 3.1. */
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
 * A member of a request body, path or query: one statement of its rule, for the check and for OpenAPI alike.
 * Optional members may be null or left out.
 */
export function Field<Body = never>(rule: Rule, options: FieldOptions<Body> = {}): PropertyDecorator {
  return applyDecorators(declare(rule, null, options), documented(rule.schema, options));
}

/** A nested object, checked by its own class. */
export function ObjectField(type: () => Dto, options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(declare(anObject, type, options), documented({ type: () => type() }, options));
}

/** An array of nested objects. */
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
