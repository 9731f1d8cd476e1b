import { Module } from '@nestjs/common';
import { LaunchController } from './launch.controller.js';
import { LaunchKeys } from './launch-keys.js';
import { FindLaunchTimeHandler, LaunchLinks } from './launch-links.js';

@Module({
  controllers: [LaunchController],
  providers: [LaunchKeys, LaunchLinks, FindLaunchTimeHandler],
})
export class LaunchModule {}
