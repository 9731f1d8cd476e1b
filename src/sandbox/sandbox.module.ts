import { Module } from '@nestjs/common';
import { ReceivedRequests } from './received-requests.js';
import { SandboxClock } from './sandbox-clock.js';
import { SandboxController } from './sandbox.controller.js';
import { SandboxEvents } from './sandbox-events.js';
import { SandboxPartner } from './sandbox-partner.js';

/** The tools of the sandbox. Only a sandbox loads this module. */
@Module({
  controllers: [SandboxController],
  providers: [SandboxClock, SandboxEvents, SandboxPartner, ReceivedRequests],
})
export class SandboxModule {}
