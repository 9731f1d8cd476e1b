import { declareFaults, payloadTooLarge, validationError, type Fault } from '../../platform/errors.js';
import type { RepeatedMember } from '../../platform/http/json-members.js';
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
  detail: 'The member stands more than once, with different values. Send it once.',
});

/** A fault as stored with a result. */
export interface KeptFault {
  readonly pointer: string;
  readonly code: string;
}

export interface Judged {
  readonly faults: readonly Fault[];
  /** Whether a deciding member or a score has a fault, or an unknown member contains forbidden characters. */
  readonly isRefused: boolean;
}

/**
 * Checks a body: lists faulty members, and decides whether the result is refused. Faults of members that only describe
 * the exam do not refuse the result.
 * @param deciding the deciding members, by their path of names; null when every known member decides
 * @param repeated members that occur more than once: the intended value is unknown
 * @throws DomainError validation_error when the body is not an object, payload_too_large
 */
export function judge(
  dto: Dto,
  deciding: readonly (readonly string[])[] | null,
  value: unknown,
  repeated: readonly RepeatedMember[] = [],
): Judged {
  const { faults } = inspectBody(dto, value);
  // More entries than any exam has are reported as a matter of size.
  if (faults.list.some(({ code }) => code === 'too_many')) throw payloadTooLarge.error();
  if (!isObject(value)) throw validationError.error({ errors: [...faults.list] });
  const form = formOf(dto);
  const differing = repeated.filter(({ differs }) => differs).map(({ pointer }) => pointer);
  faults.add(...differing.map(repeatedFault));
  if (faults.isEmpty) return { faults: faults.list, isRefused: false };
  if (deciding === null) {
    const isRefused = faults.list.some(
      ({ pointer = '', code }) => code !== 'member_repeated' || !isUnknown(form, pointer),
    );
    return { faults: faults.list, isRefused };
  }
  const pointers = new Set(deciding.map((names) => `/${names.join('/')}`));
  if (differing.some((pointer) => [...pointers].some((each) => each === pointer || each.startsWith(`${pointer}/`))))
    return { faults: faults.list, isRefused: true };
  const refusing = faults.list.filter(
    ({ pointer = '', code }) => pointers.has(pointer) || (code !== 'member_repeated' && isUnknown(form, pointer)),
  );
  // The scan stops at the maximum number of faults: a deciding member may follow them.
  const others = faults.isFull && refusing.length === 0 ? inspectBody(dto, only(value, deciding)).faults.list : [];
  return { faults: [...others, ...faults.list], isRefused: refusing.length + others.length > 0 };
}

/** Returns the faults to store: as many as an answer lists. */
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

/** Returns whether the pointer leads to or into an undeclared member. */
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
