/** The kinds of changes to a booking. */
export const CHANGE_REASONS = [
  'BOOKING_CREATED',
  'BOOKING_CANCELLED',
  'BOOKING_RESCHEDULED',
  'EXAM_COMPLETED',
  'EXCUSED_ABSENT',
  'ABSENT',
] as const;

export type ChangeReason = (typeof CHANGE_REASONS)[number];

export interface NotifiedPortion {
  portion_code: string;
  portion_name?: string;
}

/** The body of a notification. Members without a value are omitted. Times have the format `YYYY-MM-DDThh:mm:ssZ`. */
export interface NotificationRequest {
  /** The booking code of the appointment. */
  booking_code: string;
  /** The start of the appointment, in UTC. */
  booking_on: string;
  candidate_fname: string;
  /** The id of the candidate in the client's system. */
  candidate_id: string;
  candidate_lname: string;
  candidate_mname?: string;
  change_reason: ChangeReason;
  client_eligibility_id?: string;
  delivery_mode?: 'SITE_PROCTORED' | 'SVC_REMOTE_PROCTORED';
  /** The time at which the event was generated, in whole seconds. This time strictly increases within each booking. */
  effective_date: string;
  /** The exam code of the test. */
  exam_code?: string;
  exam_portions?: NotifiedPortion[];
  /**
   * The address of the test site. The address, the code and the name of the site are present only for SITE_PROCTORED.
   */
  location_address?: string;
  location_code?: string;
  location_name?: string;
  /**
   * The IANA name of the time zone of the test site or, for a remote exam, of the time zone that the candidate chose.
   */
  location_timezone?: string;
}

/**
 * Thrown when received data is not a NotificationRequest. The message names the faulty member, but contains no value.
 */
export class MalformedNotification extends Error {
  override readonly name = 'MalformedNotification';
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string' && value !== '';
const isDateTime: Check = (value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && !Number.isNaN(Date.parse(value));
const isOneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string);
const isPortions: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (portion: Partial<NotifiedPortion> | null) =>
      typeof portion === 'object' &&
      portion !== null &&
      isText(portion.portion_code) &&
      (portion.portion_name === undefined || typeof portion.portion_name === 'string'),
  );

/** The required members, each with the check of its value. */
export const REQUIRED_MEMBERS: Readonly<Record<string, Check>> = {
  booking_code: isText,
  booking_on: isDateTime,
  candidate_fname: isText,
  candidate_id: isText,
  candidate_lname: isText,
  change_reason: isOneOf(CHANGE_REASONS),
  effective_date: isDateTime,
};
export const OPTIONAL_MEMBERS: Readonly<Record<string, Check>> = {
  candidate_mname: isText,
  client_eligibility_id: isText,
  delivery_mode: isOneOf(['SITE_PROCTORED', 'SVC_REMOTE_PROCTORED']),
  exam_code: isText,
  exam_portions: isPortions,
  location_address: isText,
  location_code: isText,
  location_name: isText,
  location_timezone: isText,
};

/**
 * Parses a notification from a JSON value. Unknown members are kept, never refused.
 * @throws MalformedNotification
 */
export function parseNotification(value: unknown): NotificationRequest {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedNotification('The body is not a JSON object.');
  const members = value as Record<string, unknown>;
  for (const [name, check] of Object.entries(REQUIRED_MEMBERS))
    if (!check(members[name])) throw new MalformedNotification(`${name} is missing or malformed.`);
  for (const [name, check] of Object.entries(OPTIONAL_MEMBERS))
    if (members[name] !== undefined && !check(members[name])) throw new MalformedNotification(`${name} is malformed.`);
  return value as NotificationRequest;
}

/** Returns whether this is the sample notification, which the service sends to verify an endpoint. */
export function isSample({ booking_code }: NotificationRequest): boolean {
  return booking_code.startsWith('SAMPLE');
}
