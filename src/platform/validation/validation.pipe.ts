import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validateSync, type ValidationError } from 'class-validator';
import { distance } from 'fastest-levenshtein';
import { validationError, type Fault } from '../errors.js';
import { accepted } from './acceptance.js';
import { declaredFields, isObject, type FieldContext } from './fields.js';
import { requestContext } from '../context/request-context.js';
import { characterFault, fault } from './rules.js';

const READ_ONLY_MEMBERS = Symbol('read-only members');
const TOLERANT_READER = Symbol('tolerant reader');
/** Entries of a list, more than any class allows: checking each one of a hostile body would take seconds. */
const ENDLESS = 2000;

type Dto = new () => object;

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

/**
 * Turns a body, the path parameters or the query into an instance of the handler's class, or throws one
 * `validation_error` with every fault. Classes are made of the decorators of fields.ts.
 *
 * A handler's arguments are all piped before the first refusal is answered: each adds its faults to those of the
 * request, and the list that was thrown first holds them all when it is answered.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'custom' || data !== undefined || !metatype || metatype === Object || metatype === Array) return value;
    if (type !== 'body') return withFaultsOfRequest(inspectParameters(metatype as Dto, value as object)).instance;
    return withFaultsOfRequest(inspectBody(metatype as Dto, value)).body;
  }
}

/** A body with the faults of its form, for a handler that has more to check before it names all of them. */
export interface Inspected<T> {
  body: T;
  faults: Fault[];
}

/** Inspects a body without refusing it, unless the path or the query have faults as well. */
export class InspectionPipe<T extends object> implements PipeTransform<unknown, Inspected<T>> {
  constructor(private readonly inspect: (value: unknown) => Inspected<T>) {}

  static of<T extends object>(dto: new () => T): InspectionPipe<T> {
    return new InspectionPipe((value) => inspectBody(dto, value));
  }

  transform(value: unknown): Inspected<T> {
    const inspected = this.inspect(value);
    if (requestContext().faults.length > 0) withFaultsOfRequest(inspected);
    return inspected;
  }
}

function withFaultsOfRequest<T extends { faults: Fault[] }>(inspected: T): T {
  const { faults } = requestContext();
  faults.push(...inspected.faults);
  if (faults.length > 0) throw validationError.error({ errors: faults });
  return inspected;
}

/** @throws DomainError `validation_error` with a JSON Pointer to each fault. */
export function readBody<T extends object>(dto: new () => T, value: unknown): T {
  const { body, faults } = inspectBody(dto, value);
  if (faults.length > 0) throw validationError.error({ errors: faults });
  return body;
}

/** Members named in `faults` may have any shape; without a JSON object there is nothing but the fault that says so. */
export function inspectBody<T extends object>(dto: new () => T, value: unknown): Inspected<T> {
  if (value === undefined)
    return { body: new dto(), faults: [{ pointer: '', code: 'required', detail: 'A JSON body is needed.' }] };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return {
      body: new dto(),
      faults: [{ pointer: '', code: 'type_invalid', detail: 'The body must be a JSON object.' }],
    };
  if (Reflect.getMetadata(TOLERANT_READER, dto) === true)
    return { body: value as T, faults: tolerantFaults(dto, value) };
  const readOnly = (Reflect.getMetadata(READ_ONLY_MEMBERS, dto) as string[] | undefined) ?? [];
  const idle = Object.entries(value).filter(([name]) => readOnly.includes(name));
  const own: Record<string, unknown> = { ...value };
  for (const [name] of idle) delete own[name];
  const sound = accepted(dto, own);
  const { body, faults } = sound === null ? judge(dto, own) : { body: sound, faults: [] };
  for (const [name, member] of idle) faults.push(...characterFaults(member, `/${escapePointer(name)}`));
  return { body, faults };
}

/** The body as far as it can be one of the class, with everything that is wrong with it. */
function judge<T extends object>(dto: new () => T, value: object): Inspected<T> {
  const reserved = reservedMembers(value, '');
  const body = plainToInstance(dto, reserved.length > 0 || hasEndlessList(value) ? transformable(value) : value);
  const errors = validateSync(body, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: false });
  return { body, faults: [...collect(errors, ''), ...reserved] };
}

function tolerantFaults(dto: Dto, value: object): Fault[] {
  const faults = memberFaults(dto, value as Record<string, unknown>, '');
  if (isKeepable(value)) return faults;
  return [...faults, ...keptTextFaults(value, '', new Set(faults.map((found) => found.pointer!)))];
}

/** The faults of the members that the class declares, at every level. */
function memberFaults(dto: Dto, value: Record<string, unknown>, path: string): Fault[] {
  return declaredFields(dto).flatMap(({ name, rule, nested }) => {
    const member = value[name];
    if (member == null) return [];
    const pointer = `${path}/${escapePointer(name)}`;
    const faults = rule.faults(member).map((found) => ({ ...found, pointer: pointer + found.pointer }));
    if (!nested || faults.some((found) => found.pointer === pointer)) return faults;
    if (isObject(member)) return [...faults, ...memberFaults(nested(), member, pointer)];
    if (!Array.isArray(member)) return faults;
    return [
      ...faults,
      ...member.flatMap((entry: unknown, index) =>
        isObject(entry) ? memberFaults(nested(), entry, `${pointer}/${index}`) : [],
      ),
    ];
  });
}

/** What no database column can keep, wherever it stands: NUL and halves of surrogate pairs, in names too. */
function keptTextFaults(value: unknown, path: string, told: ReadonlySet<string>): Fault[] {
  if (typeof value === 'string') return told.has(path) ? [] : unkeepable(value, path);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${path}/${escapePointer(name)}`;
    return [...unkeepable(name, pointer), ...keptTextFaults(member, pointer, told)];
  });
}

function unkeepable(text: string, pointer: string): Fault[] {
  if (text.includes('\0')) return [fault('control_character', 'NUL is not allowed.', pointer)];
  return text.isWellFormed() ? [] : [fault('lone_surrogate', 'The text holds half of a surrogate pair.', pointer)];
}

function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.keys(value).every(
    (name) => (Array.isArray(value) || isKeepable(name)) && isKeepable((value as Record<string, unknown>)[name]),
  );
}

function inspectParameters<T extends object>(dto: new () => T, value: object): { instance: T; faults: Fault[] } {
  const sound = accepted(dto, value as Record<string, unknown>);
  if (sound) return { instance: sound, faults: [] };
  const instance = plainToInstance(dto, { ...value });
  const faults = collect(validateSync(instance, { whitelist: true, forbidUnknownValues: false }), '');
  return {
    instance,
    faults: faults.map(({ pointer, code, detail }) => ({ parameter: pointer!.split('/')[1], code, detail })),
  };
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
    // What is wrong as a whole is not looked into.
    return own.some((found) => found.pointer === pointer) ? own : [...own, ...collect(error.children ?? [], pointer)];
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

/** The names that every object has: class-transformer drops some and fails on others; to a caller they are unknown members. */
const isReserved = (name: string): boolean => name in Object.prototype;

function reservedMembers(value: unknown, path: string): Fault[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${path}/${escapePointer(name)}`;
    if (!Array.isArray(value) && isReserved(name))
      return [{ pointer, code: 'unknown_field', detail: 'There is no such member.' }];
    return reservedMembers(member, pointer);
  });
}

/** Whether a list is longer than any that a class allows. */
function hasEndlessList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (Array.isArray(value) && value.length > ENDLESS) || Object.values(value).some(hasEndlessList);
}

/** The value without reserved names, and with lists no longer than it takes to see that they are too long. */
function transformable<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, ENDLESS).map(transformable) as T;
  const members = Object.entries(value).filter(([name]) => !isReserved(name));
  return Object.fromEntries(members.map(([name, member]) => [name, transformable<unknown>(member)])) as T;
}

/** Members without effect may have any shape, but not hold what is refused wherever it stands. */
function characterFaults(value: unknown, pointer: string): Fault[] {
  if (typeof value === 'string') {
    const found = characterFault(value, true);
    return found ? [{ ...found, pointer }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    characterFaults(member, `${pointer}/${escapePointer(name)}`),
  );
}

/** RFC 6901 §3 */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
