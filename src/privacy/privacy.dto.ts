import { declareFaults } from '../platform/errors.js';
import { Field } from '../platform/validation/fields.js';
import { uuidRule } from '../platform/validation/identifiers.js';
import { integer, listOf, text } from '../platform/validation/rules.js';

declareFaults({
  not_listed: [
    'The erasure job does not list a result with this id.',
    'Send only ids that the erasure job lists in `unmatched_results`.',
  ],
});

export class EraseBody {
  @Field(text({ min: 1, max: 500, notBlank: true, lines: true }), {
    required: true,
    description: 'Kept with the job; replaced by `erased` when it names the candidate.',
  })
  reason: string;
}

export class EraseAnswer {
  @Field(text({ max: 36 }), { required: true, description: 'For GET /admin/jobs/{job_id}.' })
  job_id: string;

  @Field(integer(1, 2_147_483_647), { required: true, description: 'Records of the candidate.' })
  matched: number;
}

export class ErasureJobPath {
  @Field(uuidRule, { required: true })
  job_id: string;
}

export class TiedResultsBody {
  @Field(listOf(uuidRule, 1000), { required: true, description: 'Ids that the job lists.' })
  unmatched_results: string[];
}
