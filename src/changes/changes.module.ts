import { Module } from '@nestjs/common';
import { ChangeFeed } from './change-feed.js';
import { ChangePartitions } from './change-partitions.js';
import { CandidateChangesController, ChangesController } from './changes.controller.js';

@Module({
  controllers: [ChangesController, CandidateChangesController],
  providers: [ChangeFeed, ChangePartitions],
})
export class ChangesModule {}
