import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { formatDateTime } from '../../platform/clock.js';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { notFound } from '../../platform/errors.js';
import { Access } from '../../platform/http/access.js';
import { AnswerList, Problems } from '../../platform/http/documented.js';
import { Faults } from '../../platform/validation/faults.js';
import { DigestModel, DigestQuery, MOST_STEPS, STEP_S } from './digest.dto.js';
import { DigestReader, stepsOf } from './digest-reader.js';

@ApiTags('Partner')
@Access('partner')
@Controller('partner/digest')
export class DigestController {
  constructor(private readonly reader: DigestReader) {}

  @Get()
  @ApiOperation({ summary: 'Read digests of the delivered notifications' })
  @AnswerList(DigestModel, 'The steps, oldest first.', MOST_STEPS)
  @Problems(400, 404)
  async digest(@Query() query: DigestQuery): Promise<DigestModel[]> {
    const range = rangeOf(query);
    if (!(currentAllowedSubscriptions() ?? []).includes(query.subscription_id))
      throw notFound.error({ detail: 'There is no such subscription.' });
    const digests = await this.reader.read(query.subscription_id, currentAllowedAccounts(), range);
    return digests.map(({ from, to, ...rest }) => ({ from: formatDateTime(from), to: formatDateTime(to), ...rest }));
  }
}

/**
 * Returns the time range of the digests.
 * @throws DomainError `validation_error`
 */
function rangeOf({ from, to, step_s }: DigestQuery): { from: Date; to: Date; stepS: number } {
  const range = { from: new Date(from), to: new Date(to), stepS: step_s === undefined ? STEP_S : Number(step_s) };
  const steps = stepsOf(range.from, range.to, range.stepS);
  const faults = new Faults();
  if (steps <= 0) faults.add({ parameter: 'to', code: 'range_empty', detail: 'Must be later than from.' });
  if (steps > MOST_STEPS)
    faults.add({
      parameter: 'step_s',
      code: 'too_many_steps',
      detail: `The range has ${steps} steps. Use longer steps or a shorter range, so that there are at most ${MOST_STEPS}.`,
    });
  faults.refuse();
  return range;
}
