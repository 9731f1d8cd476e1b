import { Module } from '@nestjs/common';
import { LaunchController } from './launch.controller.js';
import { RotateLaunchKeyHandler } from './launch.handlers.js';
import { FindLaunchTimeHandler, LaunchLinks } from './launch-links.js';
import { LaunchSweep } from './launch-sweep.js';

@Module({
  controllers: [LaunchController],
  providers: [LaunchLinks, LaunchSweep, FindLaunchTimeHandler, RotateLaunchKeyHandler],
})
export class LaunchModule {}
