import { Module } from '@nestjs/common';
import { Erasure } from './erasure.js';
import { ErasureWorker } from './erasure-worker.js';
import { PrivacyController } from './privacy.controller.js';
import { RetentionSweep } from './retention-sweep.js';
import { TiedResults } from './tied-results.js';
import { TiedResultsController } from './tied-results.controller.js';

/**
 * The privacy module, which exports and erases candidates' data. Each other module handles the personal data in its own
 * tables.
 */
@Module({
  controllers: [PrivacyController, TiedResultsController],
  providers: [Erasure, ErasureWorker, RetentionSweep, TiedResults],
})
export class PrivacyModule {}
