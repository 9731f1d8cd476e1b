/** A change of a source file that violates a sentence of the specification. */
export interface Violation {
  /** The number of the specification's sentence whose test must fail. */
  readonly sentence: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const MODEL = 'src/eligibility/eligibility-model.fields.ts';
const FIELDS = 'src/eligibility/eligibility.fields.ts';
const RECORD = 'src/eligibility/eligibility-record.ts';
const RULES = 'src/eligibility/eligibility.rules.ts';
const ROUTES = 'src/eligibility/eligibility.controller.ts';
const CATALOGUE = 'src/eligibility/catalogue-check.ts';
const EVENTS = 'src/bookings/bookings.events.ts';
const PARTNER = 'src/notifications/partner/partner-client.ts';
const TOKEN = 'src/auth/tokens/token-endpoint.ts';
const BODY = 'src/results/body/result-body.ts';

const of = (file: string, changes: [sentence: string, from: string, to: string][]): Violation[] =>
  changes.map(([sentence, from, to]) => ({ sentence, file, from, to }));

export const VIOLATIONS: readonly Violation[] = [
  ...of(MODEL, [
    ['2.3', `@Field(text({ max: 1000 }), {\n    required: true,`, `@Field(text({ max: 1000 }), {`],
    ['2.8', `@Field(country(),`, `@Field(text({ max: 9 }),`],
    ['2.9', `@Field(email())`, `@Field(text({ max: 254 }))`],
    ['2.10', `@Field(personNameRule, { required: true, example: 'Ada' })`, `@Field(personNameRule)`],
    ['3.5', `  'IVR',\n`, ``],
    [
      '3.7',
      `@Field(testCodeRule, { required: true })\n  test_code: string;\n\n  @Field(voucher`,
      `@Field(code50(), { required: true })\n  test_code: string;\n\n  @Field(voucher`,
    ],
    ['4.10', `  'status',\n`, ``],
  ]),
  ...of(FIELDS, [
    ['3.2', `/^[A-Za-z0-9._-]+$/`, `/^[A-Za-z0-9._ -]+$/`],
    ['15.1', `max: 20,\n  code: 'client`, `max: 21,\n  code: 'client`],
  ]),
  ...of(CATALOGUE, [['2.16', `country !== 'US' ||`, `country === 'US' ||`]]),
  ...of(RECORD, [
    [
      '4.4',
      `formatOptionalDateTime(record.eligibility_end_date)`,
      `formatOptionalDateTime(record.schedule_start_date)`,
    ],
    ['4.8', `record.svc_eligiblity_id,`, `record.svc_eligiblity_id.toLowerCase(),`],
    ['4.3', `formatDateTime(record.created_datetime)`, `record.created_datetime.toISOString()`],
    ['9.1', `eligible_to_schedule: is`, `is_eligible: is`],
    ['4.12', `    candidate: {\n`, `    voucher_codes: [],\n    candidate: {\n`],
  ]),
  ...of(RULES, [
    ['4.5', `'Pending approval of special accommodations'`, `null`],
    ['4.6', `=== 'ELIGIBLE' && isInWindow(record, now)`, `=== 'ELIGIBLE'`],
  ]),
  ...of(ROUTES, [
    ['9.4', `@AnswerEmpty(204, 'Updated.')`, `@AnswerEmpty(200, 'Updated.')`],
    ['10.5', `@Access('update')`, `@Access('update', 'read')`],
    [
      '9.8',
      `@Delete('candidates/:candidate_id/tests/:test_code')`,
      `@Delete('candidates/:candidate_id/test/:test_code')`,
    ],
    ['14.5', `@Get('eligibilities')\n  @Access('read')`, `@Get('eligibilities')\n  @Access('read', 'create')`],
  ]),
  ...of(BODY, [
    ['5.13', `[PHOTO]: photo.value`, `[PHOTO]: null`],
    ['5.14', `[VIDEO_LINK]: videoLink.value`, `[VIDEO_LINK]: null`],
    ['5.23', `const members = [photo, videoLink, credentials]`, `const members = [photo, videoLink]`],
  ]),
  ...of('src/results/delivery/results.controller.ts', [['9.6', `@AnswerEmpty(200,`, `@AnswerEmpty(202,`]]),
  ...of('src/results/results.errors.ts', [
    ['14.2', `'registration_not_found',\n  'invalid'`, `'registration_not_found',\n  'not_found'`],
    ['14.3', `'candidate_exam_not_found',\n  'invalid'`, `'candidate_exam_not_found',\n  'not_found'`],
  ]),
  ...of('src/results/delivery/component-down.filter.ts', [
    [
      '14.7',
      `problem.kind === 'unavailable' || problem.kind === 'timed_out' ? 500 : statusOf(problem.kind)`,
      `statusOf(problem.kind)`,
    ],
  ]),
  ...of('src/bookings/notification-request.ts', [
    ['13.6', `candidate_mname: eligibility.middle_name`, `candidate_mname: eligibility.last_name`],
    ['13.8', `client_eligibility_id: eligibility.client_eligibility_id`, `client_eligibility_id: null`],
    ['13.11', `exam_code: eligibility.exam_code`, `exam_code: booking.test_code`],
    ['13.12', `exam_portions.map(withoutNulls)`, `[]`],
    ['13.14', `location_code: isAtSite ? booking.location_code`, `location_code: isAtSite ? booking.location_name`],
  ]),
  ...of('src/bookings/bookings.handlers.ts', [
    ['12.5', `this.store.save(excused ? ExcusedAbsent : Absent,`, `this.store.save(Absent,`],
  ]),
  ...of(EVENTS, [
    ['12.2', `readonly changeReason = 'BOOKING_CANCELLED'`, `readonly changeReason = 'BOOKING_RESCHEDULED'`],
  ]),
  ...of('src/notifications/partner/attempt-outcome.ts', [
    ['11.1', `if (status === 200) {`, `if (status >= 200 && status < 300) {`],
  ]),
  ...of(PARTNER, [['1.4', `method: 'PUT'`, `method: 'POST'`]]),
  ...of('src/notifications/delivery/outcome.rules.ts', [['11.3', `? 'AUTO' : 'MANUAL'`, `? 'MANUAL' : 'MANUAL'`]]),
  ...of(TOKEN, [
    ['8.8', `      token_type: 'Bearer',\n      expires_in`, `      token_type: 'bearer',\n      expires_in`],
    ['8.9', `expires_in: this.config.accessTokenTtlS`, `expires_in: String(this.config.accessTokenTtlS)`],
    [
      '8.7',
      `refreshToken,
      scope: scopes.join(' ')`,
      `refreshToken,
      scope: scopes.join(',') + ','`,
    ],
  ]),
];
