import { Controller, Get } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { EXAM_IN, FindActiveJobs, type ExamIn } from '../notifications/notifications.queries.js';
import { presentPartner } from '../notifications/partner-condition.fields.js';
import { formatDateTime, formatOptionalDateTime } from '../platform/clock.js';
import { currentAllowedAccounts } from '../platform/context/request-context.js';
import { Access, Bounded } from '../platform/http/access.js';
import { Answer, Problems } from '../platform/http/documented.js';
import { HOURS, MOST_ATTENTION, MOST_JOBS, OverviewModel } from './overview.dto.js';
import { hasTrouble, needingAttention, TROUBLES } from './overview.rules.js';
import { Snapshots, type Snapshot } from './snapshot.js';

const HOUR_MS = 3_600_000;

@ApiTags('Administration')
@Controller('admin/overview')
@Access('admin', 'support')
@Bounded('accounts')
export class OverviewController {
  constructor(
    private readonly snapshots: Snapshots,
    private readonly queryBus: QueryBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Count the work that needs an operator now' })
  @Answer(200, OverviewModel)
  @Problems()
  async get(): Promise<OverviewModel> {
    const allowedAccounts = currentAllowedAccounts();
    const [snapshot, jobs] = await Promise.all([
      this.snapshots.of(allowedAccounts),
      this.queryBus.execute(new FindActiveJobs(MOST_JOBS, allowedAccounts)),
    ]);
    const { partners, waiting } = snapshot;
    const attention = needingAttention(partners, snapshot.at);
    const counts = Object.fromEntries(
      TROUBLES.map((trouble) => [trouble, partners.filter((one) => hasTrouble(one, trouble, snapshot.at)).length]),
    ) as Record<(typeof TROUBLES)[number], number>;
    return {
      at: formatDateTime(snapshot.at),
      undelivered: undeliveredOf(snapshot.undelivered),
      partners: { well: partners.length - attention.length, ...counts },
      attention: attention.slice(0, MOST_ATTENTION).map((partner) => presentPartner(partner, snapshot.at)),
      hours: hoursOf(snapshot.at, snapshot.attempts),
      unmatched_results: sum(snapshot.unmatched, ({ count }) => count),
      approvals: sum(waiting, ({ approvals }) => approvals),
      holds: sum(waiting, ({ holds }) => holds),
      jobs: [...jobs],
    };
  }
}

function undeliveredOf(rows: Snapshot['undelivered']): OverviewModel['undelivered'] {
  const countOf = (exam_in: ExamIn) =>
    sum(
      rows.filter((row) => row.exam_in === exam_in),
      ({ count }) => count,
    );
  const oldest = Math.min(...rows.map((row) => row.oldest.getTime()));
  return {
    total: sum(rows, ({ count }) => count),
    oldest_created_datetime: formatOptionalDateTime(rows.length === 0 ? null : new Date(oldest)),
    exam_in: Object.fromEntries(EXAM_IN.map((exam_in) => [exam_in, countOf(exam_in)])) as Record<ExamIn, number>,
  };
}

function hoursOf(now: Date, attempts: Snapshot['attempts']): OverviewModel['hours'] {
  const present = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  return Array.from({ length: HOURS }, (_, index) => {
    const from = new Date(present - (HOURS - 1 - index) * HOUR_MS);
    const ofHour = attempts.filter((row) => row.from.getTime() === from.getTime());
    return {
      from: formatDateTime(from),
      delivered: sum(ofHour, ({ delivered }) => delivered),
      failed: sum(ofHour, ({ failed }) => failed),
    };
  });
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}
