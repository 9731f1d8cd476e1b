import { Module } from '@nestjs/common';
import { OperatorResultsController } from './operator-results.controller.js';
import { ResultReader } from './result-reader.js';
import { ExamOfCode } from './exam-of-code.js';
import { LikelyExams } from './likely-exams.js';
import { ForgetMediaHandler } from './media.handler.js';
import { ResultPersonalData } from './result-personal-data.js';
import { ResultReception } from './result-reception.js';
import { ResultReads } from './result-reads.js';
import { ResultQuota } from './result-quota.js';
import { ResultStore } from './result-store.js';
import { DeliveryController, ResultsController } from './results.controller.js';
import { DeliverAccountResultHandler, DeliverRegistrationResultHandler } from './results.handlers.js';
import { OperatorRevisions } from './operator-revisions.js';
import { ResultAcceptance } from './result-acceptance.js';
import { AcceptUnmatchedResultHandler } from './unmatched-acceptance.handler.js';
import { RejectUnmatchedResultHandler } from './unmatched-rejection.handler.js';
import { CountUnmatchedHandler } from './unmatched-count.handler.js';
import { EraseUnmatchedResultsHandler } from './unmatched-erasure.handler.js';
import { UnmatchedStore } from './unmatched-store.js';
import { SameBodies } from './same-bodies.js';
import { UnmatchedSweep } from './unmatched-sweep.js';
import { UnmatchedResultsController } from './unmatched.controller.js';

/** Results: the two delivery routes, their matching and revisions, and what no exam was found for. */
@Module({
  controllers: [DeliveryController, ResultsController, UnmatchedResultsController, OperatorResultsController],
  providers: [
    ResultReader,
    ResultQuota,
    ResultStore,
    SameBodies,
    OperatorRevisions,
    ResultPersonalData,
    ForgetMediaHandler,
    UnmatchedStore,
    UnmatchedSweep,
    ResultReception,
    ResultReads,
    LikelyExams,
    ExamOfCode,
    CountUnmatchedHandler,
    RejectUnmatchedResultHandler,
    EraseUnmatchedResultsHandler,
    ResultAcceptance,
    DeliverRegistrationResultHandler,
    DeliverAccountResultHandler,
    AcceptUnmatchedResultHandler,
  ],
})
export class ResultsModule {}
