import { applyDecorators } from '@nestjs/common';
import { ApiProperty, IntersectionType } from '@nestjs/swagger';
import { fault, listOf, type Rule } from './rules.js';

const DECLARED = Symbol('declared fields');
const READ_ONLY_MEMBERS = Symbol('read-only members');
const TOLERANT_READER = Symbol('tolerant reader');

export type Dto<T extends object = object> = new () => T;

/** A rule for a member whose validity depends on other members of the same object. */
interface Agreement<Body = never> {
  readonly code: string;
  readonly detail: string;
  /** The member that the fault names, if it is not the member that declares the rule. */
  readonly member?: string;
  /**
   * Returns whether the rule is fulfilled. The function is called only if the member is present. The other members of
   * the body may have values of any type, even a wrong one.
   */
  holds(body: Body): boolean;
}

/** A member of a class, as its decorator declares it. */
export interface DeclaredField {
  readonly name: string;
  /** The rules that the value of the member must fulfil. */
  readonly rules: readonly Rule[];
  /** The class of the objects that the member contains; null if it contains none. */
  readonly nested: (() => Dto) | null;
  readonly required: boolean;
  /** Whether the value of the member must not be null. An optional member may be omitted nevertheless. */
  readonly notNull: boolean;
  readonly agreements: readonly Agreement<Record<string, unknown>>[];
}

/** The declarations that a class of request bodies or parameters makes about its members. */
export interface Form {
  /** The members of the class and its ancestors, by name. */
  readonly fields: ReadonlyMap<string, DeclaredField>;
  /** The members that only the service sets. In a request they are accepted and ignored. */
  readonly readOnly: ReadonlySet<string>;
  /** Whether unknown members of a body are accepted and kept. */
  readonly isTolerant: boolean;
}

const forms = new Map<Dto, Form>();

/** Returns the declarations that a class makes about its members. They are computed once for each class. */
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

/** Returns a class that declares the members of two given classes. */
export function joined<A extends object, B extends object>(first: Dto<A>, second: Dto<B>): Dto<A & B> {
  const both = IntersectionType(first, second);
  Reflect.defineMetadata(DECLARED, [...declaredFields(first), ...declaredFields(second)], both.prototype as object);
  return both as Dto<A & B>;
}

/** Declares members that only the service sets. A request may contain such members, but they are ignored. */
export const ReadOnlyMembers =
  (...names: string[]) =>
  (target: Dto): void =>
    Reflect.defineMetadata(READ_ONLY_MEMBERS, names, target);

/**
 * Declares that bodies of this class keep unknown members. Such a body is stored as it was received. Because such a
 * body may be large, it is checked in place rather than copied.
 */
export const TolerantReader =
  () =>
  (target: Dto): void =>
    Reflect.defineMetadata(TOLERANT_READER, true, target);

interface FieldOptions<Body = never> {
  required?: boolean;
  /** Whether a request for a change may omit the member, but must not clear it with null. */
  notNull?: boolean;
  /** Whether the member is present in every response. Its value may be null. */
  always?: boolean;
  description?: string;
  example?: unknown;
  agreements?: readonly Agreement<Body>[];
  /** A further rule for the value of the member, in addition to the rule with which the field is declared. */
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

/**
 * Returns the member's own description, followed by the rule's description. The rule's description states the part of
 * the rule that no pattern can express.
 */
function withDescription({ description }: { description?: string }, own: string): string {
  return description === undefined ? own : `${own} ${description}`;
}

/**
 * Documents the schema of a member. The schema uses OpenAPI 3.0's `nullable` keyword, which openapi/document.ts
 * converts to the form of OpenAPI 3.1.
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
 * Declares a member of a request's body, path or query. The rule is used for the check and for the OpenAPI document.
 * Optional members may be null or omitted.
 */
export function Field<Body = never>(rule: Rule, options: FieldOptions<Body> = {}): PropertyDecorator {
  return applyDecorators(declare(rule, null, options), documented(rule.schema, options));
}

/** Declares a member whose value is an object. The class of that object declares how the object is checked. */
export function ObjectField(type: () => Dto, options: FieldOptions = {}): PropertyDecorator {
  return applyDecorators(declare(anObject, type, options), documented({ type: () => type() }, options));
}

/** Declares a member with a list of nested objects. */
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
