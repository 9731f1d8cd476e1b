import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validateSync, type ValidationError } from 'class-validator';
import { distance } from 'fastest-levenshtein';
import { validationError, type Fault } from '../errors.js';
import type { FieldContext } from './fields.js';

const READ_ONLY_MEMBERS = Symbol('read-only members');
const TOLERANT_READER = Symbol('tolerant reader');
/** More faults than a person or a program will read; bounds the answer to a hostile body. */
const MOST_FAULTS = 1000;

type Dto = new () => object;

/** Members of the resource that only the service sets: accepted in a body of this class and without effect. */
export const ReadOnlyMembers =
  (...names: string[]) =>
  (target: Dto): void =>
    Reflect.defineMetadata(READ_ONLY_MEMBERS, names, target);

/** Unknown members are kept in bodies of this class, never refused. */
export const TolerantReader =
  () =>
  (target: Dto): void =>
    Reflect.defineMetadata(TOLERANT_READER, true, target);

/**
 * Turns a body, the path parameters or the query into an instance of the handler's class, or throws one
 * `validation_error` with every fault. Classes are made of the decorators of fields.ts.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'custom' || data !== undefined || !metatype || metatype === Object || metatype === Array) return value;
    return type === 'body' ? readBody(metatype as Dto, value) : readParameters(metatype as Dto, value as object);
  }
}

/** @throws DomainError `validation_error` with a JSON Pointer to each fault. */
export function readBody<T extends object>(dto: new () => T, value: unknown): T {
  const { body, faults } = inspectBody(dto, value);
  if (faults.length > 0) throw validationError.error({ errors: faults.slice(0, MOST_FAULTS) });
  return body;
}

/**
 * The body with the faults of its form, for routes that check it against the database too and tell all faults at once.
 * Members named in `faults` may have any shape.
 * @throws DomainError `validation_error` when there is no JSON object at all.
 */
export function inspectBody<T extends object>(dto: new () => T, value: unknown): { body: T; faults: Fault[] } {
  if (value === undefined)
    throw validationError.error({ errors: [{ pointer: '', code: 'required', detail: 'A JSON body is needed.' }] });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw validationError.error({
      errors: [{ pointer: '', code: 'type_invalid', detail: 'The body must be a JSON object.' }],
    });
  const tolerant = Reflect.getMetadata(TOLERANT_READER, dto) === true;
  const readOnly = new Set((Reflect.getMetadata(READ_ONLY_MEMBERS, dto) as string[] | undefined) ?? []);
  const body = plainToInstance(dto, Object.fromEntries(Object.entries(value).filter(([name]) => !readOnly.has(name))));
  const faults = collect(
    validateSync(body, tolerant ? {} : { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: false }),
    '',
  );
  if (!tolerant) faults.push(...reservedMembers(value, ''));
  return { body, faults };
}

/** @throws DomainError `validation_error` with the name of each parameter at fault. */
export function readParameters<T extends object>(dto: new () => T, value: object): T {
  const instance = plainToInstance(dto, { ...value });
  const faults = collect(validateSync(instance, { whitelist: true, forbidUnknownValues: false }), '');
  if (faults.length > 0)
    throw validationError.error({
      errors: faults.map(({ pointer, code, detail }) => ({ parameter: pointer!.split('/')[1], code, detail })),
    });
  return instance;
}

function collect(errors: ValidationError[], path: string): Fault[] {
  return errors.flatMap((error) => {
    const pointer = `${path}/${escapePointer(error.property)}`;
    const own = Object.keys(error.constraints ?? {}).flatMap((constraint): Fault[] => {
      if (constraint === 'whitelistValidation') return [unknownMember(pointer, error)];
      const { rule, code, detail } = (error.contexts?.[constraint] ?? {}) as FieldContext;
      if (rule) return rule.faults(error.value).map((found) => ({ ...found, pointer: pointer + found.pointer }));
      return code && detail ? [{ pointer, code, detail }] : [];
    });
    return [...own, ...collect(error.children ?? [], pointer)];
  });
}

function unknownMember(pointer: string, { property, target }: ValidationError): Fault {
  const known = [
    ...new Set(
      getMetadataStorage()
        .getTargetValidationMetadatas(target!.constructor, '', false, false)
        .map((metadata) => metadata.propertyName),
    ),
  ];
  return { pointer, code: 'unknown_field', detail: `There is no such member.${nearestHint(property, known)}` };
}

function nearestHint(name: string, known: string[]): string {
  if (name.length > 64) return '';
  const nearest = known
    .map((candidate) => ({ candidate, far: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.far - b.far)[0];
  return nearest && nearest.far <= Math.max(2, nearest.candidate.length / 2)
    ? ` Did you mean "${nearest.candidate}"?`
    : '';
}

/** class-transformer silently drops these names; a caller who sends them is told like for any unknown member. */
function reservedMembers(value: unknown, path: string): Fault[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${path}/${escapePointer(name)}`;
    if (!Array.isArray(value) && (name === '__proto__' || name === 'constructor'))
      return [{ pointer, code: 'unknown_field', detail: 'There is no such member.' }];
    return reservedMembers(member, pointer);
  });
}

/** RFC 6901 §3 */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
