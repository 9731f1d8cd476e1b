import { declareFaults, validationError, type Fault } from '../../platform/errors.js';
import { namedFaults } from '../../platform/validation/faults.js';
import { formOf, isObject, type Dto, type Form } from '../../platform/validation/fields.js';
import { inspectBody } from '../../platform/validation/members.js';

declareFaults({
  member_repeated: [
    'The same member appears more than once in its object, with different values.',
    'Send the member once.',
  ],
});

const repeatedFault = (pointer: string): Fault => ({
  pointer,
  code: 'member_repeated',
  detail: 'The member appears more than once, with different values. Send it once.',
});

/** A validation error in a result's body, as it is stored with the result. */
export interface KeptFault {
  readonly pointer: string;
  readonly code: string;
}

export interface Judged {
  readonly faults: readonly Fault[];
  /**
   * Whether the result is refused. A result is refused if a score is invalid, if a member by which the result is
   * matched is invalid, or if an unknown member contains forbidden characters.
   */
  readonly isRefused: boolean;
}

/**
 * Checks a result's body. Lists the faulty members, and decides whether the result is refused. An invalid member that
 * only describes the exam does not cause a refusal.
 * @param deciding the members by which the result is matched with an exam, each as a path of member names. Of the known
 * members, only these members can cause a refusal. If `deciding` is null, every known member can
 * @param repeated the pointers of members that occur more than once, which makes the intended value unknown
 * @throws DomainError validation_error when the body is not an object
 */
export function judge(
  dto: Dto,
  deciding: readonly (readonly string[])[] | null,
  value: unknown,
  repeated: readonly string[] = [],
): Judged {
  const { faults } = inspectBody(dto, value);
  if (!isObject(value)) throw validationError.error({ errors: [...faults.list] });
  const form = formOf(dto);
  const known = repeated.filter((pointer) => !isUnknown(form, pointer));
  faults.add(...[...new Set([...known, ...repeated])].map(repeatedFault));
  if (faults.isEmpty) return { faults: faults.list, isRefused: false };
  if (deciding === null) {
    const isRefused = known.length > 0 || faults.list.some(({ code }) => code !== 'member_repeated');
    return { faults: faults.list, isRefused };
  }
  const pointers = new Set(deciding.map((names) => `/${names.join('/')}`));
  if (repeated.some((pointer) => [...pointers].some((each) => each === pointer || each.startsWith(`${pointer}/`))))
    return { faults: faults.list, isRefused: true };
  const refusing = faults.list.filter(
    ({ pointer = '', code }) => pointers.has(pointer) || (code !== 'member_repeated' && isUnknown(form, pointer)),
  );
  // The check of a whole body stops after the maximum number of faults, and may not have checked the deciding members.
  // The deciding members are therefore checked separately.
  const others = faults.isFull && refusing.length === 0 ? inspectBody(dto, only(value, deciding)).faults.list : [];
  return { faults: [...others, ...faults.list], isRefused: refusing.length + others.length > 0 };
}

/** Returns the faults to store with a result. Their maximum number is the same as in an error response. */
export function keptFaults(faults: readonly Fault[]): KeptFault[] {
  return namedFaults(faults).map(({ pointer = '', code }) => ({ pointer, code }));
}

function only(value: Record<string, unknown>, deciding: readonly (readonly string[])[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [name, inner] of deciding) {
    const member = value[name];
    if (inner === undefined) picked[name] = member;
    else if (isObject(member)) picked[name] = { ...(picked[name] as object | undefined), [inner]: member[inner] };
  }
  return picked;
}

/** Returns whether the pointer points to an undeclared member, or to a value inside an undeclared member. */
function isUnknown(form: Form, pointer: string): boolean {
  let at: Form | null = form;
  for (const segment of pointer.split('/').slice(1)) {
    if (at === null) return false;
    const isEntry: boolean = /^\d+$/.test(segment) && !at.fields.has(segment) && at !== form;
    if (isEntry) continue;
    const field = at.fields.get(segment.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (field === undefined) return true;
    at = field.nested === null ? null : formOf(field.nested());
  }
  return false;
}
