import { Module } from '@nestjs/common';
import { ConsoleController } from './console.controller.js';
import { EventStreams } from './event-streams.js';
import { EventsController } from './events.controller.js';
import { OverviewController } from './overview.controller.js';
import { Snapshots } from './snapshot.js';

@Module({
  controllers: [EventsController, ConsoleController, OverviewController],
  providers: [Snapshots, EventStreams],
})
export class ConsoleModule {}
