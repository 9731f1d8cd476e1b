import { Module } from '@nestjs/common';
import { OperatorResultsController } from './delivery/operator-results.controller.js';
import { ResultReader } from './body/result-reader.js';
import { ExamOfCode } from './unmatched/exam-of-code.js';
import { LikelyExams } from './unmatched/likely-exams.js';
import { DecideOnResultHandler } from './records/result-state.handlers.js';
import { ResultStateController } from './delivery/result-state.controller.js';
import { ForgetMediaHandler } from './records/media.handlers.js';
import { ResultPersonalData } from './unmatched/result-personal-data.js';
import { ResultReception } from './delivery/result-reception.js';
import { ResultReads } from './records/result-reads.js';
import { ResultQuota } from './records/result-quota.js';
import { ResultStore } from './records/result-store.js';
import { DeliveryController, ResultsController } from './delivery/results.controller.js';
import { DeliverAccountResultHandler, DeliverRegistrationResultHandler } from './delivery/results.handlers.js';
import { OperatorRevisions } from './records/operator-revisions.js';
import { ResultAcceptance } from './delivery/result-acceptance.js';
import { AcceptUnmatchedResultHandler } from './delivery/unmatched-acceptance.handlers.js';
import { RejectUnmatchedResultHandler } from './unmatched/unmatched-rejection.handlers.js';
import { CountUnmatchedHandler, SurveyOverdueUnmatchedHandler } from './unmatched/unmatched-count.handlers.js';
import { EraseUnmatchedResultsHandler } from './unmatched/unmatched-erasure.handlers.js';
import { UnmatchedStore } from './unmatched/unmatched-store.js';
import { SameBodies } from './records/same-bodies.js';
import { UnmatchedSweep } from './unmatched/unmatched-sweep.js';
import { UnmatchedResultsController } from './unmatched/unmatched.controller.js';

/** The results module, with the two delivery routes, the matching and revisions of results, and unmatched results. */
@Module({
  controllers: [
    DeliveryController,
    ResultsController,
    UnmatchedResultsController,
    OperatorResultsController,
    ResultStateController,
  ],
  providers: [
    ResultReader,
    ResultQuota,
    ResultStore,
    SameBodies,
    OperatorRevisions,
    ResultPersonalData,
    ForgetMediaHandler,
    DecideOnResultHandler,
    UnmatchedStore,
    UnmatchedSweep,
    ResultReception,
    ResultReads,
    LikelyExams,
    ExamOfCode,
    CountUnmatchedHandler,
    SurveyOverdueUnmatchedHandler,
    RejectUnmatchedResultHandler,
    EraseUnmatchedResultsHandler,
    ResultAcceptance,
    DeliverRegistrationResultHandler,
    DeliverAccountResultHandler,
    AcceptUnmatchedResultHandler,
  ],
})
export class ResultsModule {}
