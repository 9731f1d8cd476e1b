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

/** A fault as it is kept with a result. */
export interface KeptFault {
  readonly pointer: string;
  readonly code: string;
}

export interface Judged {
  readonly faults: readonly Fault[];
  /** A member that decides or is a score is at fault, or an unknown one holds what no text may. */
  readonly isRefused: boolean;
}

/**
 * Judges a body: which of its members are at fault, and whether the result is refused for it. Faults of members that only
 * describe the exam refuse nothing.
 * @param deciding the members that decide, by their names from the outermost one; null when every known member does
 * @param repeated members that stand more than once: of two values, nobody can tell which one is meant
 * @throws DomainError validation_error when it is no object, payload_too_large
 */
export function judge(
  dto: Dto,
  deciding: readonly (readonly string[])[] | null,
  value: unknown,
  repeated: readonly RepeatedMember[] = [],
): Judged {
  const { faults } = inspectBody(dto, value);
  // More entries than any exam has are a matter of size, not of form.
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
  // The walk ends at the most faults that are named: a member that decides may follow them.
  const others = faults.isFull && refusing.length === 0 ? inspectBody(dto, only(value, deciding)).faults.list : [];
  return { faults: [...others, ...faults.list], isRefused: refusing.length + others.length > 0 };
}

/** The faults as they are kept: as many as an answer names. */
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

/** Whether the pointer leads to or into a member that the form does not declare. */
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
