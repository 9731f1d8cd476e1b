import { Controller, Get, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Clock, formatDateTime } from '../../platform/clock.js';
import { Access, Bounded } from '../../platform/http/access.js';
import { AnswerList, Problems } from '../../platform/http/documented.js';
import { pageOf, sendPage } from '../../platform/http/paging.js';
import { accountsOfList } from '../../platform/known-accounts.js';
import { Field } from '../../platform/validation/fields.js';
import { dateTime, flag, listOf } from '../../platform/validation/rules.js';
import { PartnerConditionModel, presentPartner } from '../partner-condition.fields.js';
import { SubscriptionQuery } from '../subscriptions/subscriptions.dto.js';
import { count } from './notifications.dto.js';
import { PartnerReader } from './partner-reader.js';

const HOURS = 24;

class PartnerQuery extends SubscriptionQuery {
  @Field(flag(), {
    description:
      'With true, the list contains only ACTIVE partners whose attempts since the last success have all failed. Partners that are DOWN are among them.',
  })
  failing?: string;
}

class ListedPartnerModel extends PartnerConditionModel {
  @Field(dateTime(), {
    required: true,
    description: 'Beginning of the first of the 24 hours. The last hour is the current one.',
  })
  hours_from: string;

  @Field(listOf(count, HOURS, HOURS), { required: true, description: 'Attempts that were delivered, by hour.' })
  delivered: number[];

  @Field(listOf(count, HOURS, HOURS), { required: true })
  failed: number[];

  @Field(
    {
      schema: {
        type: 'array',
        items: { ...count.schema, type: ['integer', 'null'] },
        minItems: HOURS,
        maxItems: HOURS,
      },
      faults: () => [],
    },
    {
      required: true,
      description:
        '95th percentile of the duration of an attempt by hour, in milliseconds; null for an hour without an attempt.',
    },
  )
  p95_ms: (number | null)[];
}

@ApiTags('Subscriptions')
@Access('admin', 'support')
@Bounded('accounts')
@Controller('admin/partners')
export class PartnersController {
  constructor(
    private readonly reader: PartnerReader,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'List the partners with their state and their attempts of the last 24 hours',
  })
  @AnswerList(ListedPartnerModel)
  @Problems(400)
  async list(
    @Query() query: PartnerQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ListedPartnerModel[]> {
    const page = pageOf(query);
    const accounts = await accountsOfList(this.queryBus, query.account_code);
    const rows = sendPage(await this.reader.list(accounts, query.failing === 'true', page), page, response);
    const now = this.clock.now();
    return rows.map((row) => ({
      ...presentPartner(row, now),
      hours_from: formatDateTime(row.hours_from),
      delivered: row.delivered,
      failed: row.failed,
      p95_ms: row.p95_ms,
    }));
  }
}
