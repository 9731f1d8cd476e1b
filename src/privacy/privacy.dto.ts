import { Field } from '../platform/validation/fields.js';
import { integer, text } from '../platform/validation/rules.js';

export class EraseBody {
  @Field(text({ min: 1, max: 500, notBlank: true, lines: true }), { required: true, description: 'Kept with the job.' })
  reason: string;
}

export class EraseAnswer {
  @Field(text({ max: 36 }), { required: true, description: 'For GET /admin/jobs/{job_id}.' })
  job_id: string;

  @Field(integer(1, 2_147_483_647), { required: true, description: 'Records of the candidate.' })
  matched: number;
}
