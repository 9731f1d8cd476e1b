import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access, Bounded } from '../../platform/http/access.js';
import { Answer, Problems } from '../../platform/http/documented.js';
import { SubscriptionStore } from '../subscriptions/subscription-store.js';
import { SubscriptionPath } from '../subscriptions/subscriptions.dto.js';
import { StatisticsReader, SubscriptionStatistics } from './statistics-reader.js';

@ApiTags('Subscriptions')
@Access('admin', 'support')
@Bounded('row')
@Controller('admin/subscriptions')
export class StatisticsController {
  constructor(
    private readonly statisticsReader: StatisticsReader,
    private readonly subscriptions: SubscriptionStore,
  ) {}

  @Get(':id/statistics')
  @ApiOperation({ summary: 'Read the delivery statistics of a partner' })
  @Answer(200, SubscriptionStatistics)
  @Problems(404)
  async statistics(@Param() { id }: SubscriptionPath): Promise<SubscriptionStatistics> {
    return this.statisticsReader.of(await this.subscriptions.get(id));
  }
}
