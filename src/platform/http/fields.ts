import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested, type ValidationOptions } from 'class-validator';
import { fault, listOf, type Rule } from './rules.js';

/** What a failed class-validator constraint of ours carries for the problem document. */
export interface FieldContext {
  rule?: Rule;
  code?: string;
  detail?: string;
}

interface FieldOptions {
  required?: boolean;
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
  const { required = false, ...documented } = options;
  return applyDecorators(
    // `nullable` is OpenAPI 3.0's; documents.ts writes it the way of 3.1.
    ApiProperty({ ...rule.schema, ...documented, required, ...(required ? {} : { nullable: true }) }),
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
export function ObjectField(type: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  const { required = false, ...documented } = options;
  return applyDecorators(
    ApiProperty({ type: () => type(), ...documented, required }),
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
      context({ code: 'type_invalid', detail: 'Must be an object.' }),
    ),
    ValidateNested(),
  );
}

/** An array of nested objects. */
export function ObjectListField(
  type: () => new () => object,
  maxItems: number,
  options: FieldOptions = {},
): PropertyDecorator {
  const { required = false, ...documented } = options;
  const objects = listOf(
    { schema: {}, faults: (value) => (isObject(value) ? [] : [fault('type_invalid', 'Must be an object.')]) },
    maxItems,
  );
  return applyDecorators(
    ApiProperty({ type: () => type(), isArray: true, maxItems, ...documented, required }),
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

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function Present(): PropertyDecorator {
  return ValidateBy(
    { name: 'present', validator: { validate: (value: unknown) => value != null, defaultMessage: () => 'required' } },
    context(REQUIRED),
  );
}
