import { Module } from '@nestjs/common';
import { LaunchController } from './launch.controller.js';
import { LaunchKeys, RotateLaunchKeyHandler } from './launch-keys.js';
import { FindLaunchTimeHandler, LaunchLinks } from './launch-links.js';
import { LaunchSweep } from './launch-sweep.js';

@Module({
  controllers: [LaunchController],
  providers: [LaunchKeys, LaunchLinks, LaunchSweep, FindLaunchTimeHandler, RotateLaunchKeyHandler],
})
export class LaunchModule {}
