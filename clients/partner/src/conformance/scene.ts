import { randomBytes, randomUUID } from 'node:crypto';
import type { ChangeReason, NotificationRequest } from '../notification-request.js';
import { sign } from '../signature.js';
import { NoAnswer, type EndpointAnswer, type PartnerEndpoint } from './partner-endpoint.js';

/** Thrown when the partner's behaviour violates docs/notifications.md. */
export class Fault extends Error {}

export interface Known {
  /** The id of a candidate in the partner's system. An exam with the code `examCode` must also exist there. */
  candidateId: string;
  examCode: string;
  clientEligibilityId?: string | undefined;
}

/** A notification that is ready to be sent to the partner. */
export interface Prepared {
  id: string;
  sequence: number;
  body: Buffer;
}

export interface Sending {
  secrets?: readonly string[];
  timestampS?: number;
  /** The headers to add to the request. The value undefined removes a header. */
  headers?: Record<string, string | undefined>;
  /** The body to send instead of the body that was signed. */
  body?: Buffer;
  /** `sent` if the body is sent slowly in small chunks, `read` if the response is read slowly in small chunks. */
  slowly?: 'sent' | 'read';
}

/**
 * A situation that every partner meets eventually. `sentence` is the sentence in docs/notifications.md that prescribes
 * the partner's behaviour in this situation.
 */
export interface Situation {
  title: string;
  sentence: string;
  /** Plays the situation against the partner. @throws Fault */
  play(scene: Scene): Promise<void>;
}

/** Creates bookings for a situation, and sends their notifications to the partner's endpoint. */
export class Scene {
  constructor(
    private readonly endpoint: PartnerEndpoint,
    readonly secret: string,
    readonly known: Known,
  ) {}

  /** A signing secret that does not belong to the partner. */
  readonly foreignSecret = `whsec_${randomBytes(32).toString('base64')}`;

  booking(): Booking {
    return new Booking(this.known);
  }

  async send(
    prepared: Prepared,
    { secrets, timestampS, headers, body, slowly }: Sending = {},
  ): Promise<EndpointAnswer> {
    const at = timestampS ?? Math.floor(Date.now() / 1000);
    const all: Record<string, string | undefined> = {
      'content-type': 'application/json',
      'webhook-id': prepared.id,
      'webhook-timestamp': String(at),
      'webhook-signature': sign(secrets ?? [this.secret], prepared.id, at, prepared.body),
      'event-sequence': String(prepared.sequence),
      traceparent: `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`,
      'user-agent': 'candidate-eligibility-service conformance',
      ...headers,
    };
    const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    try {
      return await this.endpoint.put(Object.fromEntries(present), body ?? prepared.body, slowly);
    } catch (error) {
      if (error instanceof NoAnswer) throw new Fault(error.message);
      throw error;
    }
  }

  /** Sends the notification, and throws a Fault unless the partner answers with status 200. */
  async taken(prepared: Prepared, sending: Sending = {}): Promise<EndpointAnswer> {
    const answer = await this.send(prepared, sending);
    if (answer.status === 200) return answer;
    const { change_reason } = JSON.parse(prepared.body.toString('utf8')) as NotificationRequest;
    throw new Fault(`${change_reason} with event-sequence ${prepared.sequence} was ${told(answer)} instead of 200`);
  }

  /** Sends the notification, and throws a Fault unless the partner refuses it with one of the given statuses. */
  async refused(prepared: Prepared, statuses: readonly number[], sending: Sending): Promise<void> {
    const answer = await this.send(prepared, sending);
    if (!statuses.includes(answer.status))
      throw new Fault(`it was ${told(answer)} instead of ${statuses.join(' or ')}`);
  }
}

function told({ status, body }: EndpointAnswer): string {
  const said = body.trim().slice(0, 120);
  return `answered ${status}${said === '' ? '' : ` (${said})`}`;
}

/** A new booking whose events the program sends. */
export class Booking {
  private readonly code = `CONF${randomBytes(6).toString('hex').toUpperCase()}`.slice(0, 10);
  private readonly start = Date.now();
  private sequence = 0;

  constructor(private readonly known: Known) {}

  /** Returns a notification about the next event of the booking. An undefined value in `changes` removes the member. */
  next(change_reason: ChangeReason, changes: Record<string, unknown> = {}, spaces?: number): Prepared {
    const { candidateId, examCode, clientEligibilityId } = this.known;
    this.sequence += 1;
    const notification: NotificationRequest = {
      booking_code: this.code,
      booking_on: dateTime(this.start + 7 * 86_400_000),
      candidate_fname: 'Ada',
      candidate_id: candidateId,
      candidate_lname: 'Lovelace',
      change_reason,
      client_eligibility_id: clientEligibilityId,
      delivery_mode: 'SITE_PROCTORED',
      effective_date: dateTime(this.start + this.sequence * 1000),
      exam_code: examCode,
      exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
      location_address: '1 Main St, Springfield, IL',
      location_code: 'TC-042',
      location_name: 'Springfield Test Center',
      location_timezone: 'America/Chicago',
      ...changes,
    };
    return {
      id: randomUUID(),
      sequence: this.sequence,
      body: Buffer.from(JSON.stringify(notification, null, spaces)),
    };
  }

  /** Skips sequence numbers, as if they belonged to events to which the partner had not subscribed. */
  skip(count: number): void {
    this.sequence += count;
  }
}

function dateTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19) + 'Z';
}
