import { Controller, Get, Param, Post } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Access } from '../../platform/http/access.js';
import { Answer, Problems } from '../../platform/http/documented.js';
import { SteerJob } from '../error-queue/error-queue.commands.js';
import { SteersJob } from '../error-queue/job-answers.js';
import { JobReader, presentJob } from '../error-queue/job-reader.js';
import { JobModel, JobPath } from '../error-queue/jobs.dto.js';

/**
 * Serves the jobs that a partner started. Jobs that operators started are hidden from the partner, even those for its
 * subscriptions.
 */
@ApiTags('Partner')
@Access('partner')
@Controller('partner/jobs')
export class OwnJobsController {
  constructor(
    private readonly reader: JobReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get(':job_id')
  @ApiOperation({ summary: 'Read the progress of one’s own job' })
  @Answer(200, JobModel)
  @Problems(404)
  async get(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    const job = presentJob(await this.reader.get(id));
    // A job may have been paused by an operator. Partners must not see the operator's name.
    return { ...job, paused_by: job.paused_by === job.actor ? job.paused_by : null };
  }

  @Post(':job_id/pause')
  @SteersJob(JobModel, 'Pause one’s own job')
  pause(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'pause'));
  }

  @Post(':job_id/resume')
  @SteersJob(JobModel, 'Resume one’s own paused job')
  resume(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'resume'));
  }

  @Post(':job_id/abort')
  @SteersJob(JobModel, 'Abort one’s own job and leave the rest unchanged')
  abort(@Param() { job_id: id }: JobPath): Promise<JobModel> {
    return this.steer(new SteerJob(id, 'abort'));
  }

  private async steer(command: SteerJob): Promise<JobModel> {
    await this.commandBus.execute(command);
    return this.get({ job_id: command.jobId });
  }
}
