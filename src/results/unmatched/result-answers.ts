import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { requestContext } from '../../platform/context/request-context.js';
import { formatDateTime, formatOptionalDateTime } from '../../platform/clock.js';
import { BodyMemory } from '../../platform/overload/body-memory.js';
import { answered, sharingReads } from '../../platform/overload/read-share.js';
import { POINTER } from '../../platform/http/documented.js';
import { MOST_LISTED } from '../../platform/validation/faults.js';
import { Field } from '../../platform/validation/fields.js';
import { dateTime, integer, oneOf, text, type Rule } from '../../platform/validation/rules.js';
import type { KeptFault } from '../body/result-judgement.js';
import { PHOTO, VIDEO_LINK, wholeText } from '../body/result-body.js';
import type { ReadRevision } from '../records/result-store.js';
import { RESULT_STATES, type ResultState } from '../records/result-state.entity.js';
import { RESULT_SOURCES, type ResultSource } from '../body/results.rules.js';
import type { ReadUnmatched, UnmatchedSummary } from './unmatched-store.js';

const MOST_WAIT_MS = 8_000;

/** The rule for a JSON object that a test driver has sent, with any members. */
const anyObject: Rule = { schema: { type: 'object', additionalProperties: true }, faults: () => [] };

export const FAULTS_OF_REVISION =
  'Errors of members that do not affect the matching. The result was accepted in spite of them.';

export const STATE_OF_RESULT = 'The state of the result of the exam, which is the same for all its revisions.';
export const STATE_REASON_OF_RESULT = 'The reason of the latest hold, release or revocation. Null if there was none.';

/** The rule for the validation errors that are stored with a result's body. */
export const anyFaults: Rule = {
  schema: {
    type: 'array',
    maxItems: MOST_LISTED,
    items: {
      type: 'object',
      properties: { pointer: POINTER, code: text({ min: 1, max: 100 }).schema },
      required: ['pointer', 'code'],
    },
  },
  faults: () => [],
};

export class ResultModel {
  @Field(oneOf(RESULT_SOURCES, 'format_invalid'), { required: true })
  source: ResultSource;

  @Field(integer(1, 2_147_483_647), {
    required: true,
    description: 'The number of the accepted body of the exam, counted from 1.',
  })
  revision: number;

  @Field(dateTime(), { required: true })
  received_datetime: string;

  @Field(anyFaults, { required: true, description: FAULTS_OF_REVISION })
  faults: readonly KeptFault[];

  @Field(oneOf(RESULT_STATES, 'format_invalid'), { required: true, description: STATE_OF_RESULT })
  state: ResultState;

  @Field(text({ max: 1000, lines: true }), { always: true, description: STATE_REASON_OF_RESULT })
  state_reason: string | null;

  @Field(anyObject, {
    description: `The body as it arrived. Only callers with the scope \`results\` get ${PHOTO}, ${VIDEO_LINK}, examPassword and extExamToken, and the body of a result that is not RELEASED.`,
  })
  body?: object;
}

export class UnmatchedResultModel {
  @Field(text({ max: 36 }), { required: true })
  id: string;

  @Field(oneOf(RESULT_SOURCES, 'format_invalid'), { required: true })
  source: ResultSource;

  @Field(dateTime(), { required: true })
  received_datetime: string;

  @Field(text({ max: 50 }), {
    required: true,
    description: 'The code of the problem with which the service answered the test driver.',
  })
  code: string;

  @Field(anyFaults, { required: true, description: 'The errors in the body.' })
  faults: readonly KeptFault[];

  @Field(text({ max: 200 }), { required: true, description: 'User name of the driver.' })
  username: string;

  @Field(text({ max: 50 }), { description: 'Null for a registration result, which names no account.' })
  account_code: string | null;

  @Field(anyObject, {
    always: true,
    description: `The body as it was received. The list omits ${PHOTO}, ${VIDEO_LINK}, examPassword and extExamToken. Only callers with the scope results see the last two. The value is null if the body is not a JSON object; \`/raw\` then returns its bytes.`,
  })
  body: object | null;
}

export class UnmatchedResultDetailModel extends UnmatchedResultModel {
  @Field(dateTime(), { description: 'The time at which an operator accepted the result.' })
  accepted_datetime: string | null;

  @Field(oneOf(['OPERATOR', 'MATCHED'], 'format_invalid'), {
    description:
      'OPERATOR: an operator accepted the result. MATCHED: the same user sent the same body again, and it was matched.',
  })
  settled_by: 'OPERATOR' | 'MATCHED' | null;

  @Field(text({ max: 1000, lines: true }), { description: 'The reason for which the operator accepted the result.' })
  accept_reason: string | null;

  @Field(text({ max: 8 }), { description: 'The exam for which the result was accepted.' })
  svc_eligiblity_id: string | null;

  @Field(dateTime(), { description: 'The time at which an operator rejected the result.' })
  rejected_datetime: string | null;

  @Field(text({ max: 200 }))
  rejected_by: string | null;

  @Field(text({ max: 1000, lines: true }))
  reject_reason: string | null;
}

/**
 * Returns the JSON text of a {@link ResultModel}. The body is inserted as it was received, and not serialized again.
 */
export function resultText(read: ReadRevision): string {
  const { source, revision, received_datetime, faults, state, state_reason, body, photo, videoLink, credentials } =
    read;
  const members = {
    ...{ source, revision, received_datetime: formatDateTime(received_datetime), faults },
    ...{ state, state_reason },
  };
  return body === null
    ? JSON.stringify(members)
    : withBody(members, wholeText(body, { photo, videoLink, credentials }));
}

/** Returns the JSON text of an {@link UnmatchedResultModel}. */
export function unmatchedText(summary: UnmatchedSummary, body: string | null): string {
  return withBody(summaryOf(summary), body ?? 'null');
}

/** Returns the JSON text of an {@link UnmatchedResultDetailModel}. */
export function unmatchedDetailText(result: ReadUnmatched): string {
  const { accepted_datetime, settled_by, svc_eligiblity_id, rejected_datetime, rejected_by, reject_reason } = result;
  const { accept_reason, body } = result;
  return withBody(
    {
      ...summaryOf(result),
      accepted_datetime: accepted_datetime && formatDateTime(accepted_datetime),
      settled_by: settled_by ?? (accepted_datetime && 'OPERATOR'),
      accept_reason,
      svc_eligiblity_id,
      rejected_datetime: formatOptionalDateTime(rejected_datetime),
      rejected_by,
      reject_reason,
    },
    body === null ? 'null' : wholeText(body.text.toString('utf8'), body),
  );
}

function summaryOf({ id, source, received_datetime, code, faults, username, account_code }: UnmatchedSummary): object {
  return { id, source, received_datetime: formatDateTime(received_datetime), code, faults, username, account_code };
}

function withBody(members: object, body: string): string {
  return `${JSON.stringify(members).slice(0, -1)},"body":${body}}`;
}

/**
 * Limits the number of responses with result bodies that can be sent at the same time, in total and for each
 * application. Each response holds one entry in memory, which may be several megabytes in size, until the entry is
 * sent.
 */
const underWay = new BodyMemory(24, 6, MOST_WAIT_MS);

/**
 * Sends a JSON array entry by entry, as fast as the client reads. The bodies are large, and are never all in memory at
 * once.
 * @param find queries the database and returns the entries; it is called only when a slot for sending is free
 * @throws DomainError service_unavailable while too many such responses to the application are being sent
 */
export async function sendArray(response: Response, find: () => Promise<AsyncIterable<string>>): Promise<void> {
  // The slot of the request is released, because each entry of the streamed array waits for its own slot.
  answered(response);
  const place = underWay.begin(requestContext().caller?.consumerKey ?? '');
  try {
    await place.charge(1);
    // Nothing is sent to a client that disconnected while its request waited.
    if (response.destroyed) return;
    await stream(response, await find());
  } finally {
    place.leave();
  }
}

async function stream(response: Response, entries: AsyncIterable<string>): Promise<void> {
  response.type('application/json');
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    await pipeline(Readable.from(arrayText(sharingReads(entries)), { highWaterMark: 1 }), response);
  } catch (error) {
    // The error ERR_STREAM_PREMATURE_CLOSE means that the client disconnected before the array was sent.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

async function* arrayText(entries: AsyncIterable<string>): AsyncIterable<string> {
  let before = '[';
  for await (const entry of entries) {
    yield before + entry;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
