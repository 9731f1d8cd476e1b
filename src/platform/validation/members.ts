import { distance } from 'fastest-levenshtein';
import { declareFaults, type Fault } from '../errors.js';
import { Faults } from './faults.js';
import { formOf, isObject, type DeclaredField, type Dto, type Form } from './fields.js';
import { characterFault, fault } from './rules.js';

declareFaults({
  required: [
    'A required member or parameter is missing.',
    'Send the member or parameter. A value of null counts as missing.',
  ],
  unknown_field: ['The object has no member with this name.', 'Remove the member, or correct its name.'],
  unknown_parameter: ['The operation has no parameter with this name.', 'Remove the parameter, or correct its name.'],
});

/**
 * A body with the faults that were found so far. Code that makes further checks adds its faults before all of them are
 * reported.
 */
export interface Inspected<T> {
  body: T;
  faults: Faults;
}

/**
 * Reads the body as an instance of the class.
 * @throws DomainError `validation_error` with a JSON Pointer to each fault
 */
export function readBody<T extends object>(dto: Dto<T>, value: unknown): T {
  const { body, faults } = inspectBody(dto, value);
  faults.refuse();
  return body;
}

/**
 * Reads the body as an instance of the class, as far as possible. If the body is not a JSON object, that is the only
 * fault in the result. If the class tolerates unknown members, the body is checked in place rather than copied.
 */
export function inspectBody<T extends object>(dto: Dto<T>, value: unknown, faults = new Faults()): Inspected<T> {
  if (value === undefined) faults.add(fault('required', 'A JSON body is required.'));
  else if (!isObject(value)) faults.add(fault('type_invalid', 'The body must be a JSON object.'));
  else if (!formOf(dto).isTolerant) return { body: readMembers(dto, value, faults), faults };
  else {
    checkMembers(formOf(dto), value, '', faults);
    if (!isKeepable(value)) checkKept(value, '', faults);
    return { body: value as T, faults };
  }
  return { body: new dto(), faults };
}

/**
 * Reads path or query parameters as an instance of the class.
 * @param strict whether an undeclared parameter is a fault
 */
export function readParameters(
  dto: Dto | null,
  value: Record<string, unknown>,
  strict: boolean,
  faults: Faults,
): object {
  const found = new Faults();
  const form = dto === null ? null : formOf(dto);
  if (strict)
    for (const parameter of Object.keys(value)) {
      if (form?.fields.has(parameter)) continue;
      const hint = nearestHint(parameter, form === null ? [] : [...form.fields.keys()]);
      faults.add({ parameter, code: 'unknown_parameter', detail: `There is no such parameter.${hint}` });
      if (faults.isFull) break;
    }
  if (dto === null || form === null) return value;
  const instance: object = new dto();
  for (const field of form.fields.values()) readMember(field, value, '', instance, found);
  for (const { pointer, code, detail } of found.list) faults.add({ parameter: pointer!.split('/')[1], code, detail });
  return instance;
}

/**
 * Reads the members of an object: first the undeclared members, then the declared members in the order of their
 * declaration.
 */
function readMembers<T extends object>(dto: Dto<T>, value: Record<string, unknown>, faults: Faults, path = ''): T {
  const form = formOf(dto);
  for (const name of Object.keys(value)) {
    if (form.fields.has(name)) continue;
    const pointer = `${path}/${escapePointer(name)}`;
    if (form.readOnly.has(name)) checkIdle(value[name], pointer, faults);
    else faults.add(unknownMember(name, pointer, form));
    if (faults.isFull) break;
  }
  const instance = new dto();
  for (const field of form.fields.values()) readMember(field, value, path, instance, faults);
  return instance;
}

function readMember(
  field: DeclaredField,
  value: Record<string, unknown>,
  path: string,
  instance: object,
  faults: Faults,
): void {
  const member = value[field.name];
  if (member === undefined && !field.required) return;
  checkMember(field, value, path, faults);
  (instance as Record<string, unknown>)[field.name] = nestedIn(field, member, path, faults);
}

/**
 * Returns the value of a member. The objects that it contains are read as instances of their class, as far as possible.
 */
function nestedIn({ name, nested }: DeclaredField, member: unknown, path: string, faults: Faults): unknown {
  if (nested === null || faults.isFull || typeof member !== 'object' || member === null) return member;
  const pointer = `${path}/${escapePointer(name)}`;
  // If a value is wrong as a whole, the members that it contains are not checked.
  if (!faults.isEmpty && faults.at(pointer)) return member;
  if (!Array.isArray(member)) return readMembers(nested(), member as Record<string, unknown>, faults, pointer);
  return member.map((entry: unknown, index) =>
    isObject(entry) ? readMembers(nested(), entry, faults, `${pointer}/${index}`) : entry,
  );
}

/** Checks a member against the rules of its field, and adds the faults. */
function checkMember(field: DeclaredField, value: Record<string, unknown>, path: string, faults: Faults): void {
  const { name, rules, agreements, required, notNull } = field;
  const member = value[name];
  if (member == null) {
    if (required) faults.add(fault('required', 'Must be given.', `${path}/${escapePointer(name)}`));
    else if (notNull && member === null)
      faults.add(fault('required', 'Must not be null.', `${path}/${escapePointer(name)}`));
    return;
  }
  for (const rule of rules)
    for (const found of rule.faults(member))
      faults.add({ ...found, pointer: `${path}/${escapePointer(name)}${found.pointer}` });
  for (const agreement of agreements)
    if (!agreement.holds(value))
      faults.add(fault(agreement.code, agreement.detail, `${path}/${escapePointer(agreement.member ?? name)}`));
}

/** Adds the faults of the declared members at every nesting level, without copying the members. */
function checkMembers(form: Form, value: Record<string, unknown>, path: string, faults: Faults): void {
  for (const field of form.fields.values()) {
    if (faults.isFull) return;
    const member = value[field.name];
    if (member == null) continue;
    checkMember(field, value, path, faults);
    if (field.nested === null || typeof member !== 'object') continue;
    const pointer = `${path}/${escapePointer(field.name)}`;
    if (!faults.isEmpty && faults.at(pointer)) continue;
    const nested = formOf(field.nested());
    if (!Array.isArray(member)) checkMembers(nested, member as Record<string, unknown>, pointer, faults);
    else
      member.forEach((entry: unknown, index) => {
        if (isObject(entry)) checkMembers(nested, entry, `${pointer}/${index}`, faults);
      });
  }
}

/** Adds a fault for each value or member name with NUL or an unpaired surrogate, which no database column can store. */
function checkKept(value: unknown, path: string, faults: Faults): void {
  if (faults.isFull) return;
  if (typeof value === 'string') {
    if (!isKeepable(value) && !faults.at(path)) faults.add(unkeepable(value, path));
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const pointer = `${path}/${escapePointer(name)}`;
    if (!isKeepable(name)) faults.add(unkeepable(name, pointer));
    checkKept(member, pointer, faults);
  }
}

function unkeepable(text: string, pointer: string): Fault {
  return text.includes('\0')
    ? fault('control_character', 'NUL is not allowed.', pointer)
    : fault('lone_surrogate', 'The text contains half of a surrogate pair.', pointer);
}

function isKeepable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.keys(value).every(
    (name) => (Array.isArray(value) || isKeepable(name)) && isKeepable((value as Record<string, unknown>)[name]),
  );
}

/**
 * Checks a member that the service ignores. Its value may have any shape, but must not contain forbidden characters.
 */
function checkIdle(value: unknown, pointer: string, faults: Faults): void {
  if (faults.isFull) return;
  if (typeof value === 'string') {
    // Line breaks are allowed, because a client may send back a body that it received with GET. The status message in
    // such a body repeats the reason for a hold, which may contain line breaks.
    const found = characterFault(value, true);
    if (found) faults.add({ ...found, pointer });
  } else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) checkIdle(member, `${pointer}/${escapePointer(name)}`, faults);
}

/** Returns the entry of an error response that reports an unknown member. */
function unknownMember(name: string, pointer: string, form: Form): Fault {
  const hint = hintWithin(name, form) ?? nearestHint(name, [...form.fields.keys()]);
  return fault('unknown_field', `There is no such member.${hint}`, pointer);
}

/**
 * Returns the hint for a name that a nested object declares, but the outer object does not; null for any other name.
 */
function hintWithin(name: string, { fields }: Form): string | null {
  const isSame = (one: string) => bare(one) === bare(name);
  if (name.length > MOST_LETTERS || [...fields.keys()].some(isSame)) return null;
  for (const { name: outer, nested } of fields.values()) {
    const inner = nested && [...formOf(nested()).fields.keys()].find(isSame);
    if (inner) return ` Did you mean "${inner}" in "${outer}"?`;
  }
  return null;
}

/** Names that other systems use for members of this API, in lower case and without spaces. */
const OTHER_NAMES = new Map([
  ['familyname', 'last_name'],
  ['surname', 'last_name'],
  ['lname', 'last_name'],
  ['givenname', 'first_name'],
  ['forename', 'first_name'],
  ['fname', 'first_name'],
  ['zip', 'postal_code'],
  ['zipcode', 'postal_code'],
  ['postcode', 'postal_code'],
  ['state', 'province_state'],
  ['province', 'province_state'],
  ['street', 'address1'],
  ['phone', 'home_phone'],
  ['mail', 'email'],
  ['emailaddress', 'email'],
]);

/** The maximum length of an unknown name for which the service looks for a suggestion. */
const MOST_LETTERS = 64;
/** The minimum length of a prefix that is enough to identify the intended member name. */
const FEWEST_LETTERS = 3;

/** Returns the end of an error message: a suggestion of the name that was probably meant, or an empty string. */
export function nearestHint(name: string, known: readonly string[]): string {
  const meant = name.length > MOST_LETTERS ? null : meantName(name, known);
  return meant === null ? '' : ` Did you mean "${meant}"?`;
}

/**
 * Returns the known name that was probably meant; null if there is none. The known name has the same letters as `name`,
 * is a synonym, is the only name with the same words or with a similar prefix, or differs by mistyped letters.
 */
function meantName(name: string, known: readonly string[]): string | null {
  const letters = bare(name);
  const same = known.find((one) => bare(one) === letters);
  if (same !== undefined) return same;
  const other = OTHER_NAMES.get(letters);
  if (other !== undefined) return known.includes(other) ? other : null;
  const asked = wordsOf(name);
  const withWords = known.filter((one) => asked.every((word) => wordsOf(one).includes(word)));
  if (asked.length > 0 && withWords.length === 1) return withWords[0];
  const alike = known.filter((one) => beginAlike(name, one));
  if (alike.length === 1) return alike[0];
  let nearest: string | null = null;
  let nearestFar = Math.max(1, Math.floor(letters.length / 3)) + 1;
  for (const one of known) {
    const far = distance(letters, bare(one));
    if (far < nearestFar) [nearest, nearestFar] = [one, far];
  }
  return nearest;
}

/** Returns whether one name is a prefix of the other, or both have the same first word, in singular or plural. */
function beginAlike(one: string, other: string): boolean {
  const [short, long] = [bare(one), bare(other)].sort((left, right) => left.length - right.length);
  if (short.length >= FEWEST_LETTERS && long.startsWith(short)) return true;
  const [first, second] = [one, other].map((name) => (wordsOf(name)[0] ?? '').replace(/ies$/, 'y').replace(/s$/, ''));
  return first.length >= FEWEST_LETTERS && first === second;
}

const bare = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Splits the name of a member into words at spaces, punctuation and capitals. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Escapes a name for a JSON Pointer (RFC 6901 §3). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
