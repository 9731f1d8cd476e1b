import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CandidatePath } from '../eligibility/eligibility.fields.js';
import { AuditEntryModel, presentAuditRow } from '../platform/audit/audit.dto.js';
import { AuditReader } from '../platform/audit/audit.reader.js';
import { Clock, formatDateTime } from '../platform/clock.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { Jobs } from '../platform/jobs/jobs.js';
import { PersonalDataHolders } from '../platform/personal-data.js';
import { Idempotent } from '../platform/unit-of-work/idempotency.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Erasure } from './erasure.js';
import { ErasureWorker } from './erasure-worker.js';
import { EraseAnswer, EraseBody } from './privacy.dto.js';

@ApiTags("Candidates' rights")
@Access('admin')
@Controller('admin/accounts/:account_code/candidates/:candidate_id')
export class PrivacyController {
  constructor(
    private readonly erasure: Erasure,
    private readonly worker: ErasureWorker,
    private readonly jobs: Jobs,
    private readonly unitOfWork: UnitOfWork,
    private readonly holders: PersonalDataHolders,
    private readonly clock: Clock,
    private readonly auditLog: AuditReader,
  ) {}

  @Get('export')
  @ApiOperation({ summary: 'Export all data about a candidate' })
  @ApiResponse({
    status: 200,
    description:
      'One document: records, bookings, results with photo and link, notifications, events, audit rows, import rows.',
    content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
  })
  @Problems(400, 404)
  export(@Param() { account_code, candidate_id }: CandidatePath): Promise<Record<string, unknown>> {
    return this.unitOfWork.run(async () => {
      const subject = await this.erasure.subjectOf({ accountCode: account_code, candidateId: candidate_id });
      let document: Record<string, unknown> = {
        account_code,
        candidate_id,
        exported_datetime: formatDateTime(this.clock.now()),
      };
      for (const holder of this.holders.all()) document = { ...document, ...(await holder.export(subject)) };
      // The audit entry names the candidate's newest record instead of the candidate, because a candidate's id must not
      // be in a permanent log.
      this.unitOfWork.audit('candidate.export', subject.svcEligibilityIds[0]);
      return document;
    });
  }

  @Get('audit')
  @Access('admin', 'support')
  @ApiOperation({ summary: 'Read the audit log of a candidate’s records and bookings' })
  @AnswerList(AuditEntryModel)
  @Problems(400, 404)
  async audit(
    @Param() { account_code, candidate_id }: CandidatePath,
    @Query() query: PageQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AuditEntryModel[]> {
    const subject = await this.erasure.subjectOf({ accountCode: account_code, candidateId: candidate_id });
    const page = pageOf(query);
    const subjects = [...subject.svcEligibilityIds, ...subject.bookingCodes];
    const rows = await this.auditLog.ofSubjects(account_code, subjects, page);
    return sendPage(rows, page, response).map(({ position: _, ...row }) => presentAuditRow(row));
  }

  @Post('erase')
  @Idempotent()
  @ApiOperation({ summary: 'Erase the personal data of a candidate' })
  @Answer(202, EraseAnswer, 'A job was created.')
  @BodyProblems(404, 409)
  erase(@Param() path: CandidatePath, @Body() { reason }: EraseBody): Promise<EraseAnswer> {
    const candidate = { accountCode: path.account_code, candidateId: path.candidate_id };
    return this.unitOfWork.run(async () => {
      const matched = await this.erasure.assertErasable(candidate);
      const job_id = await this.jobs.make({
        kind: 'ERASE',
        filter: { candidate_id: candidate.candidateId },
        reason,
        accountCode: candidate.accountCode,
      });
      this.unitOfWork.afterCommit(() => void this.worker.poll());
      return { job_id, matched };
    });
  }
}
