import { setTimeout as pause } from 'node:timers/promises';
import type { Partner, PartnerRequest } from '../test/support/partner.js';
import type { HttpClient } from './http-client.js';
import type { Narrator } from './narrator.js';
import { isSigned } from './signature.js';

const TEST_CODE = 'SANDBOX-ONE';
const DAY_MS = 86_400_000;
const PATIENCE_MS = 15_000;

interface Candidate {
  candidate_id: string;
  first_name: string;
  last_name: string;
  email: string;
}

interface Notification {
  id: string;
  change_reason: string;
  booking_code: string;
  state: string;
  retry: string | null;
  failure: string | null;
  http_status: number | null;
}

interface NotificationDetail extends Notification {
  attempts: { trigger: string; http_status: number | null; failure: string | null }[];
}

/** The single steps of the demo: each calls the service, checks what came of it, and tells it. */
export class Flow {
  /** How the partner answered, request by request. */
  readonly answers: string[] = [];
  private client: HttpClient;
  private operator: HttpClient;
  private signingSecret = '';

  constructor(
    private readonly narrator: Narrator,
    private readonly partner: Partner,
    private readonly account: string,
  ) {}

  act(client: HttpClient, operator: HttpClient): void {
    this.client = client;
    this.operator = operator;
  }

  /** @returns the svc_eligiblity_id */
  async createEligibility(candidate: Candidate): Promise<string> {
    const { svc_eligiblity_id, status } = await this.client.call<{ svc_eligiblity_id: string; status: string }>(
      200,
      'POST',
      `/accounts/${this.account}/candidates`,
      { test_code: TEST_CODE, eligibility_end_date: inDays(90), candidate },
    );
    this.narrator.done('eligibility created', `${svc_eligiblity_id}, ${status}, for ${TEST_CODE}`);
    return svc_eligiblity_id;
  }

  async subscribe(): Promise<void> {
    const { id, state, signing_secret } = await this.operator.call<{
      id: string;
      state: string;
      signing_secret: string;
    }>(201, 'POST', '/admin/subscriptions', {
      account_code: this.account,
      partner_url: this.partner.url,
      ca_pem: this.partner.caPem,
    });
    this.signingSecret = signing_secret;
    this.narrator.done('subscription', `${id}, ${state}`);
    const verified = await this.operator.call<{ state: string }>(200, 'POST', `/admin/subscriptions/${id}/verify`);
    this.assertSigned(this.partner.requests[0]);
    this.answers.push('200');
    this.narrator.done('sample answered with 200', verified.state);
  }

  /** @returns the booking_code */
  async book(candidateId: string): Promise<string> {
    const { booking_code, booking_on } = await this.client.call<{ booking_code: string; booking_on: string }>(
      201,
      'POST',
      `${this.exam(candidateId)}/bookings`,
      appointment(7),
    );
    this.narrator.done('booked', `${booking_code}, for ${booking_on}`);
    return booking_code;
  }

  async reschedule(bookingCode: string): Promise<void> {
    const { booking_on } = await this.client.call<{ booking_on: string }>(
      200,
      'PUT',
      this.booking(bookingCode),
      appointment(14),
    );
    this.narrator.done('moved', `${bookingCode}, to ${booking_on}`);
  }

  async cancel(bookingCode: string): Promise<void> {
    await this.client.call(204, 'DELETE', this.booking(bookingCode));
    this.narrator.done('cancelled', bookingCode);
  }

  async registrationResult(svcEligibilityId: string): Promise<void> {
    await this.client.call(200, 'POST', '/registrations/registration/results', {
      examDate: '2026-11-20 09:00',
      examProcessingStatus: 'Completed',
      examMetaData: { examCode: svcEligibilityId, simulatedExam: false, extRecordLocator: 'LOCATOR-1' },
      overAllComments: 'No incident.',
    });
    this.narrator.done('result accepted', 'POST /registrations/registration/results');
  }

  async accountResult(candidateId: string): Promise<void> {
    await this.client.call(200, 'PUT', `/accounts/${this.account}`, {
      candidate_id: candidateId,
      result_id: 'RESULT-1',
      result: 'pass',
      overall_score_scaled: 480,
      overall_score_pct: '96',
    });
    this.narrator.done('result accepted', 'PUT /accounts/{account_code}');
  }

  /** Waits for the nth event of a booking and checks it. @returns its body */
  async expectEvent(bookingCode: string, sequence: number, changeReason: string): Promise<unknown> {
    const events = await this.partner.receivedFor(bookingCode, sequence, PATIENCE_MS);
    const event = events[sequence - 1];
    const body = event.json as { change_reason: string };
    if (event.method !== 'PUT' || event.path !== '/notifications')
      throw new Error(`The partner got ${event.method} ${event.path}.`);
    if (body.change_reason !== changeReason || event.headers['event-sequence'] !== String(sequence))
      throw new Error(`The partner got ${body.change_reason}, not ${changeReason}.`);
    this.assertSigned(event);
    this.answers.push('200');
    this.narrator.done(
      `partner: ${changeReason}`,
      `PUT /notifications, event ${sequence}, signature good, answered 200`,
    );
    return body;
  }

  async expectStatus(candidateId: string, expected: string): Promise<void> {
    const [record] = await this.client.call<{ status: string }[]>(200, 'GET', this.exam(candidateId));
    if (record?.status !== expected) throw new Error(`The eligibility is ${record?.status}, not ${expected}.`);
    this.narrator.done('eligibility', expected);
  }

  async expectResults(candidateId: string, sources: string[]): Promise<void> {
    const results = await this.client.call<{ source: string; revision: number }[]>(
      200,
      'GET',
      `${this.exam(candidateId)}/results`,
    );
    const found = results.map(({ source }) => source);
    if (found.join() !== sources.join()) throw new Error(`The results are of ${found.join()}, not ${sources.join()}.`);
    this.narrator.done(
      'both results are kept',
      results.map((one) => `revision ${one.revision} ${one.source}`).join(', '),
    );
  }

  /** Waits until the booking's event is in the error queue. */
  async expectQueued(bookingCode: string): Promise<Notification> {
    const queue = `/admin/error-queue?booking_code=${bookingCode}`;
    const notification = await this.eventually(async () => {
      const [found] = await this.operator.call<Notification[]>(200, 'GET', queue);
      return found;
    }, `an event of booking ${bookingCode} in the error queue`);
    const { id, change_reason, failure, http_status, retry } = notification;
    if (failure !== 'client_error' || http_status !== 400 || retry !== 'MANUAL')
      throw new Error(`The event is in the error queue as ${JSON.stringify(notification)}.`);
    this.answers.push('400');
    this.narrator.done('in the error queue', `${change_reason}, ${failure} ${http_status}, retry ${retry}`);
    this.narrator.note(`notification ${id}`);
    const summary = await this.operator.call<{ count: number }[]>(200, 'GET', '/admin/error-queue/summary');
    this.narrator.done('summary of the queue', summary.map((cause) => `${cause.count} of this cause`).join(', '));
    return notification;
  }

  async resend({ id }: Notification, bookingCode: string): Promise<void> {
    await this.operator.call(202, 'POST', `/admin/error-queue/${id}/resend`, { reason: 'the candidate is known now' });
    this.narrator.done('resend asked for', 'POST /admin/error-queue/{notification_id}/resend');
    const [refused, again] = await this.partner.receivedFor(bookingCode, 2, PATIENCE_MS);
    if (!again.raw.equals(refused.raw) || again.headers['webhook-id'] !== id)
      throw new Error('What was sent again is not the same notification, byte for byte.');
    this.assertSigned(again);
    this.answers.push('200');
    const detail = await this.eventually(async () => {
      const found = await this.operator.call<NotificationDetail>(200, 'GET', `/admin/notifications/${id}`);
      return found.state === 'DELIVERED' ? found : undefined;
    }, 'the delivery');
    const attempts = detail.attempts.map((attempt) => `${attempt.trigger} ${attempt.http_status ?? attempt.failure}`);
    this.narrator.done(detail.state, `the same bytes and webhook-id; attempts: ${attempts.join(', ')}`);
  }

  /** One event of that kind, here and at the partner. */
  async expectOnce(bookingCode: string, changeReason: string): Promise<void> {
    const query = `booking_code=${bookingCode}&change_reason=${changeReason}`;
    const made = await this.operator.call<Notification[]>(200, 'GET', `/admin/notifications?${query}`);
    const got = this.partner.requests.filter(({ json }) => {
      const body = json as { booking_code: string; change_reason: string };
      return body.booking_code === bookingCode && body.change_reason === changeReason;
    });
    if (made.length !== 1 || got.length !== 1)
      throw new Error(`${changeReason} was made ${made.length} times and received ${got.length} times.`);
    this.narrator.done(`${changeReason} came once`, 'for two results');
  }

  async expectEmptyQueue(): Promise<void> {
    const queue = await this.operator.call<Notification[]>(200, 'GET', '/admin/error-queue');
    if (queue.length > 0) throw new Error(`The error queue holds ${queue.length} notifications.`);
    this.narrator.done('the error queue is empty');
  }

  private assertSigned({ headers, raw }: PartnerRequest): void {
    if (!isSigned(headers, raw, this.signingSecret)) throw new Error('The signature of a notification is wrong.');
  }

  private exam(candidateId: string): string {
    return `/accounts/${this.account}/candidates/${candidateId}/tests/${TEST_CODE}`;
  }

  private booking(bookingCode: string): string {
    return `/accounts/${this.account}/bookings/${bookingCode}`;
  }

  private async eventually<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
    for (const until = Date.now() + PATIENCE_MS; Date.now() < until; await pause(50)) {
      const found = await look();
      if (found !== undefined) return found;
    }
    throw new Error(`${what} did not come about within ${PATIENCE_MS / 1000} s.`);
  }
}

function inDays(days: number): string {
  return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 19) + 'Z';
}

function appointment(days: number) {
  return {
    booking_on: inDays(days),
    delivery_mode: 'SITE_PROCTORED',
    location_code: 'TC-042',
    location_name: 'Springfield Test Center',
    location_address: '1 Main St, Springfield, IL',
    location_timezone: 'America/Chicago',
  };
}
