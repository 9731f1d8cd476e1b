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
    description: 'The reason, which is kept with the job. It is replaced by `erased` if it names the candidate.',
  })
  reason: string;
}

export class EraseAnswer {
  @Field(text({ max: 36 }), { required: true, description: 'The id of the job, for `GET /admin/jobs/{job_id}`.' })
  job_id: string;

  @Field(integer(1, 2_147_483_647), { required: true, description: 'Number of records of the candidate.' })
  matched: number;
}

export class ErasureJobPath {
  @Field(uuidRule, { required: true })
  job_id: string;
}

export class TiedResultsBody {
  @Field(listOf(uuidRule, 1000), { required: true, description: 'Ids of results that the erasure job lists.' })
  unmatched_results: string[];
}
