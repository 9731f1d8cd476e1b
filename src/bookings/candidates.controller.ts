import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { SearchEligibilities } from '../eligibility/eligibility.queries.js';
import { FoundEligibilityModel } from '../eligibility/search.fields.js';
import { Access, Bounded } from '../platform/http/access.js';
import { sealCursor } from '../platform/http/cursor.js';
import { AnswerList, Problems } from '../platform/http/documented.js';
import { linkNext, PageQuery, pageOf } from '../platform/http/paging.js';
import { accountsOfList } from '../platform/known-accounts.js';
import { Field } from '../platform/validation/fields.js';
import { text } from '../platform/validation/rules.js';
import { BookingStore } from './booking-store.js';

class SearchQuery extends PageQuery {
  @Field(text({ min: 1, max: 50 }))
  account_code?: string;

  @Field(text({ min: 1, max: 254, notBlank: true }), {
    required: true,
    description:
      'The words of a name in any order (the beginning of each word is enough), the end of a telephone number, or the beginning of ' +
      'a candidate_id, e-mail address, postal code, svc_eligiblity_id, client_eligibility_id or booking_code. Case, accents and the ' +
      'punctuation of names do not matter.',
  })
  q: string;
}

@ApiTags('Administration')
@Controller('admin/candidates')
@Access('admin', 'support')
@Bounded('accounts')
export class CandidatesController {
  constructor(
    private readonly queryBus: QueryBus,
    private readonly store: BookingStore,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Search the records of all candidates' })
  @AnswerList(
    FoundEligibilityModel,
    'The records that were found. `Link` with `rel="next"` has the URL of the next page.',
  )
  @Problems(400)
  async search(
    @Query() query: SearchQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<FoundEligibilityModel[]> {
    const page = pageOf(query);
    const skip = page.after ?? 0;
    const accountCodes = await accountsOfList(this.queryBus, query.account_code);
    const ids = await this.store.eligibilitiesOf(query.q, accountCodes, skip + page.take);
    const found = await this.queryBus.execute(new SearchEligibilities(accountCodes, query.q, ids, skip, page.take));
    if (found.length > page.size) linkNext(response, 'cursor', sealCursor(String(skip + page.size)));
    return found.slice(0, page.size);
  }
}
