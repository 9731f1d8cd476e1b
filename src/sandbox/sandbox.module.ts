import { Module } from '@nestjs/common';
import { ReceivedRequests } from './received-requests.js';
import { SandboxClock } from './sandbox-clock.js';
import { SandboxController } from './sandbox.controller.js';
import { SandboxEvents } from './sandbox-events.js';
import { SandboxPartner } from './sandbox-partner.js';

/** The sandbox's tools, which only a sandbox loads. */
@Module({
  controllers: [SandboxController],
  providers: [SandboxClock, SandboxEvents, SandboxPartner, ReceivedRequests],
})
export class SandboxModule {}
