import { Module } from '@nestjs/common';
import { ChangeFeed } from './change-feed.js';
import { ChangePartitions } from './change-partitions.js';
import { ChangesController } from './changes.controller.js';

@Module({
  controllers: [ChangesController],
  providers: [ChangeFeed, ChangePartitions],
})
export class ChangesModule {}
