import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested, type ValidationOptions } from 'class-validator';
import { fault, listOf, type Rule } from './rules.js';

const DECLARED = Symbol('declared fields');

type Dto = new () => object;

/**
 * A member as its decorator declares it: the rule of its own value, the class of the objects in it, and whether it must
 * be given.
 */
export interface DeclaredField {
  readonly name: string;
  readonly rule: Rule;
  readonly nested: (() => Dto) | null;
  readonly required: boolean;
}

/** The members that a class and its ancestors declare. */
export function declaredFields(dto: Dto): readonly DeclaredField[] {
  return (Reflect.getMetadata(DECLARED, dto.prototype as object) as DeclaredField[] | undefined) ?? [];
}

function Declared(rule: Rule, required: boolean, nested: (() => Dto) | null = null): PropertyDecorator {
  return (target, name) =>
    Reflect.defineMetadata(
      DECLARED,
      [...declaredFields(target.constructor as Dto), { name: String(name), rule, nested, required }],
      target,
    );
}

/** What a failed class-validator constraint of ours carries for the problem document. */
export interface FieldContext {
  rule?: Rule;
  code?: string;
  detail?: string;
}

interface FieldOptions {
  required?: boolean;
  /** Of an answer: never left out, although it may be null. */
  always?: boolean;
  description?: string;
  example?: unknown;
}

const REQUIRED: FieldContext = { code: 'required', detail: 'Must be given.' };

function context(value: FieldContext): ValidationOptions {
  return { context: value };
}

/**
 * A member of a request body, path or query: one statement of its rule, for class-validator and for OpenAPI alike.
 * Optional members may be null or left out.
 */
export function Field(rule: Rule, options: FieldOptions = {}): PropertyDecorator {
  const { required = false, always = required, ...documented } = options;
  return applyDecorators(
    Declared(rule, required),
    // `nullable` is OpenAPI 3.0's; documents.ts writes it the way of 3.1.
    ApiProperty({ ...rule.schema, ...documented, required: always, ...(required ? {} : { nullable: true }) }),
    required ? Present() : ValidateIf((_object, value) => value != null),
    ValidateBy(
      {
        name: 'field',
        validator: {
          validate: (value: unknown) => value == null || rule.faults(value).length === 0,
          defaultMessage: () => 'invalid',
        },
      },
      context({ rule }),
    ),
  );
}

/** A nested object, checked by its own class. */
export function ObjectField(type: () => Dto, options: FieldOptions = {}): PropertyDecorator {
  const { required = false, ...documented } = options;
  return applyDecorators(
    Declared(anObject, required, type),
    ApiProperty({ type: () => type(), ...documented, required, ...(required ? {} : { nullable: true }) }),
    Type(type),
    required ? Present() : ValidateIf((_object, value) => value != null),
    ValidateBy(
      {
        name: 'object',
        validator: {
          validate: (value: unknown) => value == null || isObject(value),
          defaultMessage: () => 'no object',
        },
      },
      context({ rule: anObject }),
    ),
    ValidateNested(),
  );
}

/** An array of nested objects. */
export function ObjectListField(type: () => Dto, maxItems: number, options: FieldOptions = {}): PropertyDecorator {
  const { required = false, ...documented } = options;
  const objects = listOf(anObject, maxItems);
  return applyDecorators(
    Declared(objects, required, type),
    ApiProperty({
      type: () => type(),
      isArray: true,
      maxItems,
      ...documented,
      required,
      ...(required ? {} : { nullable: true }),
    }),
    Type(type),
    required ? Present() : ValidateIf((_object, value) => value != null),
    ValidateBy(
      {
        name: 'list',
        validator: {
          validate: (value: unknown) => value == null || objects.faults(value).length === 0,
          defaultMessage: () => 'no list',
        },
      },
      context({ rule: objects }),
    ),
    ValidateNested({ each: true }),
  );
}

const anObject: Rule = {
  schema: {},
  faults: (value) => (isObject(value) ? [] : [fault('type_invalid', 'Must be an object.')]),
};

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function Present(): PropertyDecorator {
  return ValidateBy(
    { name: 'present', validator: { validate: (value: unknown) => value != null, defaultMessage: () => 'required' } },
    context(REQUIRED),
  );
}
