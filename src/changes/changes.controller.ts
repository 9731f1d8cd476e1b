import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CandidatePath } from '../eligibility/eligibility.fields.js';
import { FindEligibilities } from '../eligibility/eligibility.queries.js';
import { CHANGE_KINDS } from '../platform/changes/change.entity.js';
import { formatDateTime } from '../platform/clock.js';
import { Access } from '../platform/http/access.js';
import { sealCursor } from '../platform/http/cursor.js';
import { AnswerList, Problems } from '../platform/http/documented.js';
import { linkNext, pageSize } from '../platform/http/paging.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { ChangeFeed, type Entry } from './change-feed.js';
import { ChangeModel, ChangesQuery, readPosition, writePosition } from './changes.dto.js';

/** The maximum number of entries in the response about one candidate. Older entries are in the feed. */
const MOST_OF_CANDIDATE = 500;

@ApiTags('Change feed')
@Controller('accounts/:account_code/changes')
@Access('read')
export class ChangesController {
  constructor(private readonly feed: ChangeFeed) {}

  @Get()
  @ApiOperation({
    summary: 'Read the change feed of the account',
    description:
      'The feed lists the changes of the records in the order in which they became visible. Every response has a `Link` with `rel="next"`, even an empty one. Keep the last link and request it again later. No change is missing, and none is listed twice.',
  })
  @AnswerList(
    ChangeModel,
    'The changes, oldest first. `Link` with `rel="next"` has the URL of the next page, even after an empty page.',
  )
  @Problems(400, 410)
  async list(
    @Param() { account_code }: AccountPath,
    @Query() query: ChangesQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ChangeModel[]> {
    const kinds = query.kind === undefined ? CHANGE_KINDS : [query.kind];
    const { entries, next } =
      query.after === 'now'
        ? { entries: [], next: await this.feed.now(account_code) }
        : await this.feed.read(
            account_code,
            kinds,
            query.after === undefined ? null : readPosition(query.after),
            pageSize(query.limit),
          );
    linkNext(response, 'after', sealCursor(writePosition(next)));
    return entries.map(present);
  }
}

@ApiTags('Administration')
@Controller('admin/accounts/:account_code/candidates/:candidate_id/changes')
@Access('admin', 'support')
export class CandidateChangesController {
  constructor(
    private readonly queryBus: QueryBus,
    private readonly feed: ChangeFeed,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Read the changes of a candidate’s records' })
  @AnswerList(ChangeModel, `The newest ${MOST_OF_CANDIDATE} changes, newest first.`, MOST_OF_CANDIDATE)
  @Problems(400, 404)
  async list(@Param() { account_code, candidate_id }: CandidatePath): Promise<ChangeModel[]> {
    const records = await this.queryBus.execute(new FindEligibilities(account_code, candidate_id));
    const ids = records.map((record) => record.svc_eligiblity_id);
    return (await this.feed.ofRecords(account_code, ids, MOST_OF_CANDIDATE)).map(present);
  }
}

function present(entry: Entry): ChangeModel {
  return {
    id: sealCursor(`change ${entry.generation} ${entry.xid} ${entry.position}`),
    kind: entry.kind,
    change: entry.change,
    at: formatDateTime(entry.at),
    svc_eligiblity_id: entry.svc_eligiblity_id,
    candidate_id: entry.candidate_id,
    test_code: entry.test_code,
    booking_code: entry.booking_code,
    status: entry.status as ChangeModel['status'],
    revision: entry.revision,
    notification: entry.notification,
    event_sequence: entry.event_sequence,
  };
}
