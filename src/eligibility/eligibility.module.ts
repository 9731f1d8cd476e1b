import { Module } from '@nestjs/common';
import { EligibilityAdminController } from './operators/decisions.controller.js';
import { CatalogueCheck } from './catalogue-check.js';
import { FindPortionsInUseHandler, IsEntryInUseHandler } from './catalogue-use.handlers.js';
import { CreateEligibilitiesHandler, CreateEligibilityHandler, JudgeCreationsHandler } from './create.handlers.js';
import { FindDormantCandidatesHandler } from './dormant.handlers.js';
import { EligibilityPersonalData } from './eligibility-personal-data.js';
import { EligibilityCreation } from './eligibility-creation.js';
import { EligibilityController } from './eligibility.controller.js';
import { ExpiringSweep } from './expiring-sweep.js';
import { ExpirySweep } from './expiry-sweep.js';
import { EligibilityStore } from './eligibility-store.js';
import { LockEligibilitiesOfCandidateHandler, LockEligibilityHandler } from './lock.handlers.js';
import { CandidateRecordsController, OperatorEligibilitiesController } from './operators/operator.controller.js';
import {
  CountWaitingHandler,
  SurveyOverdueApprovalsHandler,
  FindOperatorRecordsHandler,
  OperatorRecords,
} from './operators/operator-records.handlers.js';
import { FindKnownRecordsHandler, ReadEligibilitiesHandler } from './export.handlers.js';
import { ListEligibilitiesHandler } from './list.handlers.js';
import {
  FindEligibilitiesHandler,
  FindEligibilitiesOfTestHandler,
  FindLaunchSubjectHandler,
  GetEligibilityHandler,
} from './read.handlers.js';
import { SearchEligibilitiesHandler } from './search.handlers.js';
import {
  ApproveAccommodationsHandler,
  DeclineAccommodationsHandler,
  CancelEligibilityHandler,
  HoldEligibilityHandler,
  ReleaseHoldHandler,
  ReplaceVouchersHandler,
} from './state.handlers.js';
import { CompleteEligibilityHandler, FollowBookingHandler, ScheduleEligibilityHandler } from './booked.handlers.js';
import { UpdateEligibilityHandler } from './update.handlers.js';

@Module({
  controllers: [
    EligibilityController,
    EligibilityAdminController,
    OperatorEligibilitiesController,
    CandidateRecordsController,
  ],
  providers: [
    EligibilityStore,
    CatalogueCheck,
    ExpirySweep,
    ExpiringSweep,
    EligibilityCreation,
    CreateEligibilityHandler,
    CreateEligibilitiesHandler,
    JudgeCreationsHandler,
    UpdateEligibilityHandler,
    CancelEligibilityHandler,
    ReplaceVouchersHandler,
    HoldEligibilityHandler,
    ReleaseHoldHandler,
    ApproveAccommodationsHandler,
    DeclineAccommodationsHandler,
    ScheduleEligibilityHandler,
    FollowBookingHandler,
    CompleteEligibilityHandler,
    FindEligibilitiesHandler,
    FindEligibilitiesOfTestHandler,
    GetEligibilityHandler,
    ListEligibilitiesHandler,
    SearchEligibilitiesHandler,
    FindLaunchSubjectHandler,
    LockEligibilityHandler,
    LockEligibilitiesOfCandidateHandler,
    IsEntryInUseHandler,
    FindPortionsInUseHandler,
    ReadEligibilitiesHandler,
    FindKnownRecordsHandler,
    FindDormantCandidatesHandler,
    EligibilityPersonalData,
    OperatorRecords,
    FindOperatorRecordsHandler,
    CountWaitingHandler,
    SurveyOverdueApprovalsHandler,
  ],
})
export class EligibilityModule {}
