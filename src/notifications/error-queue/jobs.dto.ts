import { ApiProperty } from '@nestjs/swagger';
import { PageQuery } from '../../platform/http/paging.js';
import { JOB_KINDS, JOB_STATES, type JobKind, type JobState } from '../../platform/jobs/job.entity.js';
import { Field, ObjectField } from '../../platform/validation/fields.js';
import { idInPath, uuidRule } from '../../platform/validation/identifiers.js';
import { timeZone } from '../../platform/validation/formats.js';
import { boolean, dateTime, listOf, oneOf, text } from '../../platform/validation/rules.js';
import { ITEM_OUTCOMES, type ItemOutcome } from '../delivery/job-item.entity.js';
import type { NotifiedChange } from '../notified-change.js';
import {
  BOOKING_OR_RECORD,
  CANDIDATE_NAME_TEXT,
  candidateName,
  changeReason,
  count,
  EXAM_ZONE,
  NotificationFilter,
  PREVIOUS_BOOKING_ON_TEXT,
  reason,
} from './notifications.dto.js';

const kind = oneOf(JOB_KINDS, 'kind_unknown');
const state = oneOf(JOB_STATES, 'state_unknown');
const outcome = oneOf(ITEM_OUTCOMES, 'outcome_unknown');

/** The body of a bulk resend or a bulk resolution. */
export class BulkBody {
  @ObjectField(() => NotificationFilter, {
    required: true,
    description: 'The filter of the job. An empty object matches the whole queue.',
  })
  filter: NotificationFilter;

  @Field(reason, { required: true })
  reason: string;

  @Field(boolean(), { description: 'With true, the notifications are only counted.' })
  dry_run?: boolean | null;
}

export class ReplayFilter {
  @Field(dateTime(), { description: 'Only notifications that were created at this time or later.' })
  from?: string;

  @Field(dateTime('end'), { description: 'Only notifications that were created before this time.' })
  to?: string;

  @Field(text({ min: 1, max: 50 }), { description: BOOKING_OR_RECORD })
  booking_code?: string;

  @Field(changeReason)
  change_reason?: NotifiedChange;
}

export class ReplayBody {
  @Field(uuidRule, { required: true })
  subscription_id: string;

  @ObjectField(() => ReplayFilter, {
    required: true,
    description: 'The filter for delivered notifications. An empty object matches all of them.',
  })
  filter: ReplayFilter;

  @Field(reason, { required: true })
  reason: string;

  @Field(boolean(), { description: 'With true, the notifications are only counted.' })
  dry_run?: boolean | null;
}

export class JobStarted {
  @Field(uuidRule, { always: true, description: 'The id of the job. The value is null after a dry run.' })
  job_id: string | null;

  @Field(count, {
    always: true,
    description: 'Number of notifications in the job. The value is null until they are counted.',
  })
  matched: number | null;

  @Field(count, {
    description: 'Lower bound of the count, for a dry run that would take too long. `matched` is null then.',
  })
  matched_at_least?: number;
}

export class ResendStarted extends JobStarted {
  @Field(uuidRule, { always: true, description: 'The same as `job_id`.' })
  resend_id: string | null;
}

/** The path parameter of the routes for one bulk job. */
export class JobPath {
  @Field(idInPath, { required: true })
  job_id: string;
}

/** The path parameter of the routes for one resend. */
export class ResendPath {
  @Field(idInPath, { required: true })
  resend_id: string;
}

export class JobQuery extends PageQuery {
  @Field(kind)
  kind?: JobKind;

  @Field(state)
  state?: JobState;

  @Field(text({ min: 1, max: 50 }), { description: 'Jobs that concern notifications of this account.' })
  account_code?: string;

  @Field(uuidRule, { description: 'Jobs that concern notifications to this partner.' })
  subscription_id?: string;
}

export class JobModel {
  @Field(uuidRule, { required: true })
  job_id: string;

  @Field(kind, { required: true })
  kind: JobKind;

  @Field(state, { required: true })
  state: JobState;

  @Field(text({ max: 50 }), {
    always: true,
    description: 'The account that the job concerns. The value is null when the job may concern several accounts.',
  })
  account_code: string | null;

  @Field(uuidRule, {
    always: true,
    description: 'The only partner of the job’s filter. The value is null without one.',
  })
  subscription_id: string | null;

  @Field(text({ max: 100 }), { always: true })
  subscription_name: string | null;

  @Field(text({ max: 2000 }), { always: true })
  partner_url: string | null;

  @ApiProperty({ type: 'object', additionalProperties: true, description: 'The filter of the job, as it was sent.' })
  filter: object;

  @Field(text({ max: 200 }), {
    always: true,
    description: '`operator`, or the failure classes of the partners for which the job stopped.',
  })
  paused_because: string | null;

  @Field(text({ max: 200 }), { always: true, description: 'User name of the operator who paused the job.' })
  paused_by: string | null;

  @Field(count, {
    always: true,
    description: 'Number of notifications in the job. The value is null until they are counted.',
  })
  matched: number | null;

  @Field(count, { required: true, description: 'Number of notifications whose attempt has not begun.' })
  waiting: number;

  @Field(count, { required: true, description: 'Number of attempts that have begun.' })
  sent: number;

  @Field(count, { required: true })
  delivered: number;

  @Field(count, { required: true })
  failed: number;

  @Field(count, {
    required: true,
    description: 'Notifications that were delivered or resolved before the job reached them.',
  })
  skipped: number;

  @Field(count, {
    required: true,
    description: 'Number of notifications that a job of the kind `RESOLVE` has resolved.',
  })
  resolved: number;

  @Field(text({ max: 1000, lines: true }), {
    required: true,
    description:
      'The reason that the operator gave. It is replaced by `erased` if it named a candidate who was erased.',
  })
  reason: string;

  @Field(listOf(uuidRule, 1_000_000), {
    always: true,
    description:
      'Ids of unmatched results that have only the name of the erased candidate. The value is null unless the job is a finished erasure.',
  })
  unmatched_results: string[] | null;

  @Field(text({ max: 200 }), { required: true, description: 'User name of the operator.' })
  actor: string;

  @Field(dateTime(), { required: true })
  created_datetime: string;
}

export class ResendModel extends JobModel {
  @Field(uuidRule, { required: true, description: 'The same as `job_id`.' })
  resend_id: string;
}

export class JobItemQuery extends PageQuery {
  @Field(outcome)
  outcome?: ItemOutcome;
}

export class JobItemModel {
  @Field(uuidRule, { always: true, description: 'The notification; null if it is no longer kept.' })
  notification_id: string | null;

  @Field(text({ max: 50 }), { always: true })
  booking_code: string | null;

  @Field(text({ max: 50 }), { always: true, description: 'The changed record; null for a change of a booking.' })
  svc_eligiblity_id: string | null;

  @Field(uuidRule, { required: true })
  subscription_id: string;

  @Field(text({ max: 100 }), { always: true })
  subscription_name: string | null;

  @Field(text({ max: 2000 }), { always: true })
  partner_url: string | null;

  @Field(text({ max: 50 }), { always: true })
  candidate_id: string | null;

  @Field(candidateName, { always: true, description: CANDIDATE_NAME_TEXT })
  candidate_name: string | null;

  @Field(changeReason, { always: true })
  change_reason: NotifiedChange | null;

  @Field(dateTime(), { always: true, description: 'Start of the exam, as the notification states it.' })
  booking_on: string | null;

  @Field(dateTime(), { always: true, description: PREVIOUS_BOOKING_ON_TEXT })
  previous_booking_on: string | null;

  @Field(timeZone(), { always: true, description: EXAM_ZONE })
  location_timezone: string | null;

  @Field(outcome, { required: true })
  outcome: ItemOutcome;
}
