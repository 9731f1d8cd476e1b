import { getMetadataStorage } from 'class-validator';
import { declaredFields, isObject, type DeclaredField } from './fields.js';

type Dto<T extends object = object> = new () => T;

const fieldsOfClass = new Map<Dto, ReadonlyMap<string, DeclaredField> | null>();

/**
 * The value as an instance of the class when it has no fault, else null: then class-validator is to say what is wrong.
 * Both ask the same rules. This one reads them once per class and makes no record of each question, so that a sound body
 * costs a fraction of what class-transformer and class-validator take for it.
 */
export function accepted<T extends object>(dto: Dto<T>, value: Record<string, unknown>): T | null {
  const fields = fieldsOf(dto);
  if (fields === null) return null;
  for (const name of Object.keys(value)) if (!fields.has(name)) return null;
  const instance = new dto();
  for (const field of fields.values()) {
    const member = acceptedMember(field, value[field.name]);
    if (member === NONE) return null;
    if (member !== undefined) (instance as Record<string, unknown>)[field.name] = member;
  }
  return instance;
}

const NONE = Symbol('not accepted');

function acceptedMember({ rule, nested, required }: DeclaredField, member: unknown): unknown {
  if (member == null) return required ? NONE : member;
  if (rule.faults(member).length > 0) return NONE;
  if (nested === null) return member;
  const dto = nested();
  if (!Array.isArray(member)) return accepted(dto, member as Record<string, unknown>) ?? NONE;
  const entries = member.map((entry: unknown) => (isObject(entry) ? accepted(dto, entry) : null));
  return entries.includes(null) ? NONE : entries;
}

/** The fields of a class by name; null for a class with rules beside those of its fields, which class-validator alone knows. */
function fieldsOf(dto: Dto): ReadonlyMap<string, DeclaredField> | null {
  let fields = fieldsOfClass.get(dto);
  if (fields === undefined) {
    const declared = new Map(declaredFields(dto).map((field) => [field.name, field]));
    // Of each field class-validator has whether it must be given, its rule, and whether to look into it.
    const known = [...declared.values()].reduce((sum, { nested }) => sum + (nested === null ? 2 : 3), 0);
    const all = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false).length;
    fields = all === known ? declared : null;
    fieldsOfClass.set(dto, fields);
  }
  return fields;
}
