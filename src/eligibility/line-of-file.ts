import { eligibilityClosed, eligibilityNotFound, recordDiffers } from './eligibility.errors.js';
import type { LineOfFile, NamedRecord } from './eligibility.commands.js';
import type { EligibilityModel } from './eligibility-model.fields.js';
import type { Eligibility } from './eligibility.entity.js';

type Attribute = Eligibility['additional_attributes'][number];

/**
 * Refuses a line of an import file if the id in the line is not the id of the record that the line would change.
 * @param found the record that the line would change
 * @param records all records of the candidate and test, newest first
 * @throws DomainError record_differs; eligibility_closed and eligibility_not_found when the record with that id is
 * closed
 */
export function assertMeant(
  { svcEligibilityId: named, clientEligibilityId = null }: Pick<NamedRecord, 'svcEligibilityId'> & Partial<NamedRecord>,
  found: Eligibility | null,
  records: readonly Eligibility[],
): void {
  if (named !== null && found?.svc_eligiblity_id !== named && records.length > 0) throw differs(named, found, records);
  if (clientEligibilityId === null || found === null || found.client_eligibility_id === clientEligibilityId) return;
  throw differing(
    '/client_eligibility_id',
    found,
    'The eligibility of this candidate and test has another client_eligibility_id.',
  );
}

function differs(named: string, found: Eligibility | null, records: readonly Eligibility[]) {
  const meant = records.find(({ svc_eligiblity_id }) => svc_eligiblity_id === named);
  if (meant === undefined)
    return differing('/svc_eligiblity_id', found, `The record ${named} does not belong to this candidate and test.`);
  if (found !== null)
    return differing(
      '/svc_eligiblity_id',
      found,
      `The record ${named} is ${meant.status}, and the record ${found.svc_eligiblity_id} has replaced it. A line cannot change a closed record.`,
    );
  if (meant.status === 'CANCELLED') return eligibilityNotFound.error({ detail: `The record ${named} was cancelled.` });
  return eligibilityClosed.error();
}

function differing(pointer: string, found: Eligibility | null, detail: string) {
  return recordDiffers.error({
    ...(found === null ? {} : { members: { svc_eligiblity_id: found.svc_eligiblity_id } }),
    errors: [{ pointer, code: recordDiffers.code, detail }],
  });
}

/**
 * Returns the body with all attributes that the record will have after the change. The attributes of the line come
 * first, so that the index in a fault is the index of the attribute in the line.
 */
export function withAllAttributes(
  body: EligibilityModel,
  line: LineOfFile | null,
  record: Eligibility | null,
): EligibilityModel {
  if (line?.attributes == null || line.attributes.length === 0) return body;
  const said = new Set(line.attributes.map(({ key }) => key));
  const others = (record?.additional_attributes ?? []).filter(({ key }) => !said.has(key));
  const additional_attributes = [...(body.candidate.additional_attributes ?? []), ...others];
  return { ...body, candidate: { ...body.candidate, additional_attributes } };
}

/**
 * Returns all attributes of the record in order, after the changes that the line makes. Clearing an attribute that is
 * already empty changes nothing.
 */
export function changedAttributes(
  attributes: readonly Attribute[],
  line: NonNullable<LineOfFile['attributes']>,
): Attribute[] {
  const said = new Map(line.map(({ key, value }) => [key, value]));
  const changed = attributes.flatMap((attribute) => {
    const value = said.get(attribute.key);
    said.delete(attribute.key);
    if (value === undefined || (value === null && attribute.value === '')) return [attribute];
    return value === null ? [] : [{ key: attribute.key, value }];
  });
  return [...changed, ...[...said].flatMap(([key, value]) => (value === null ? [] : [{ key, value }]))];
}
