import { formatDateTime, formatOptionalDateTime } from '../platform/clock.js';
import { demographicsOf, type ShownEligibility } from './eligibility.columns.js';
import type { EligibilityResponseModel } from './eligibility-model.fields.js';
import { statusAt } from './eligibility.fields.js';
import { isEligibleToSchedule, statusMessage } from './eligibility.rules.js';

/** Builds the response that shows an eligibility record at a given time. The response has every member of the model. */
export function presentEligibility(record: ShownEligibility, now: Date): EligibilityResponseModel {
  return {
    svc_eligiblity_id: record.svc_eligiblity_id,
    client_eligibility_id: record.client_eligibility_id,
    test_code: record.test_code,
    portion_codes: record.portion_codes,
    status: statusAt(record, now),
    eligible_to_schedule: isEligibleToSchedule(record, now),
    eligibility_status_message: statusMessage(record, now),
    schedule_start_date: formatOptionalDateTime(record.schedule_start_date),
    eligibility_end_date: formatOptionalDateTime(record.eligibility_end_date),
    created_datetime: formatDateTime(record.created_datetime),
    candidate: {
      candidate_id: record.candidate_id,
      ...demographicsOf(record),
      country: record.country,
      special_accommodations: record.special_accommodations,
      additional_attributes: record.additional_attributes,
    },
  };
}
