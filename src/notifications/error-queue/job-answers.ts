import { applyDecorators, type Type } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { Answer, BodyProblems, Problems } from '../../platform/http/documented.js';
import { Idempotent } from '../../platform/unit-of-work/idempotency.js';

/** Declares a route that creates a bulk job. With `dry_run`, the route only counts the notifications of the job. */
export const StartsJob = (model: Type, ...problems: number[]) =>
  applyDecorators(
    Idempotent(),
    Answer(200, model, 'The count of a dry run. No job was created.'),
    Answer(202, model, 'A job was created.'),
    BodyProblems(...problems),
  );

/** Declares a route that pauses, resumes or aborts a bulk job. */
export const SteersJob = (model: Type, summary: string) =>
  applyDecorators(Idempotent(), ApiOperation({ summary }), Answer(200, model), Problems(404, 409));
