import { Module } from '@nestjs/common';
import { EligibilityAdminController } from './admin.controller.js';
import { CatalogueCheck } from './catalogue-check.js';
import { CreateEligibilityHandler } from './create.handler.js';
import { EligibilityController } from './eligibility.controller.js';
import { EligibilityStore } from './eligibility-store.js';
import { FindEligibilitiesHandler, FindLaunchSubjectHandler, ListEligibilitiesHandler } from './read.handlers.js';
import {
  ApproveAccommodationsHandler,
  CancelEligibilityHandler,
  CompleteEligibilityHandler,
  FollowBookingHandler,
  HoldEligibilityHandler,
  ReleaseHoldHandler,
  ReplaceVouchersHandler,
  ScheduleEligibilityHandler,
} from './state.handlers.js';
import { UpdateEligibilityHandler } from './update.handler.js';

@Module({
  controllers: [EligibilityController, EligibilityAdminController],
  providers: [
    EligibilityStore,
    CatalogueCheck,
    CreateEligibilityHandler,
    UpdateEligibilityHandler,
    CancelEligibilityHandler,
    ReplaceVouchersHandler,
    HoldEligibilityHandler,
    ReleaseHoldHandler,
    ApproveAccommodationsHandler,
    ScheduleEligibilityHandler,
    FollowBookingHandler,
    CompleteEligibilityHandler,
    FindEligibilitiesHandler,
    ListEligibilitiesHandler,
    FindLaunchSubjectHandler,
  ],
})
export class EligibilityModule {}
