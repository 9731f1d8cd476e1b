import { setTimeout as pause } from 'node:timers/promises';
import type { EligibilityClient, components } from '../clients/typescript/src/index.js';
import type { Partner, PartnerRequest } from '../test/support/partner.js';
import type { Narrator } from './narrator.js';
import { isSigned } from './signature.js';

const TEST_CODE = 'SANDBOX-ONE';
const EXAM = '/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}';
const BOOKING = '/accounts/{account_code}/bookings/{booking_code}';
const DAY_MS = 86_400_000;
const PATIENCE_MS = 15_000;

interface Candidate {
  candidate_id: string;
  first_name: string;
  last_name: string;
  email: string;
}

type Notification = components['schemas']['NotificationModel'];

/** The steps of the demo: each calls the service, checks the result, and prints it. */
export class Flow {
  /** The responses of the partner, one for each request. */
  readonly answers: string[] = [];
  private client: EligibilityClient['api'];
  private operator: EligibilityClient['api'];
  private subscriptionId = '';
  private signingSecret = '';

  constructor(
    private readonly narrator: Narrator,
    private readonly partner: Partner,
    private readonly account: string,
  ) {}

  act(client: EligibilityClient, operator: EligibilityClient): void {
    this.client = client.api;
    this.operator = operator.api;
  }

  /** @returns the svc_eligiblity_id */
  async createEligibility(candidate: Candidate): Promise<string> {
    const { data } = await this.client.POST('/accounts/{account_code}/candidates', {
      params: { path: this.ofAccount },
      body: { test_code: TEST_CODE, eligibility_end_date: inDays(90), candidate },
    });
    const { svc_eligiblity_id, status } = data!;
    this.narrator.done('eligibility created', `${svc_eligiblity_id}, ${status}, for ${TEST_CODE}`);
    return svc_eligiblity_id;
  }

  async subscribe(): Promise<void> {
    const { data } = await this.operator.POST('/admin/subscriptions', {
      body: { ...this.ofAccount, partner_url: this.partner.url, ca_pem: this.partner.caPem },
    });
    const { id, state, signing_secret } = data!;
    this.subscriptionId = id;
    this.signingSecret = signing_secret;
    this.narrator.done('subscription', `${id}, ${state}`);
    const { data: verified } = await this.operator.POST('/admin/subscriptions/{id}/verify', {
      params: { path: { id } },
    });
    this.assertSigned(this.partner.requests[0]);
    this.answers.push('200');
    this.narrator.done('sample answered with 200', verified!.state);
  }

  /** @returns the booking_code */
  async book(candidateId: string): Promise<string> {
    const { data } = await this.client.POST(`${EXAM}/bookings`, {
      params: { path: this.exam(candidateId) },
      body: appointment(7),
    });
    const { booking_code, booking_on } = data!;
    this.narrator.done('booked', `${booking_code}, for ${booking_on}`);
    return booking_code;
  }

  async reschedule(bookingCode: string): Promise<void> {
    const { data } = await this.client.PUT(BOOKING, {
      params: { path: { ...this.ofAccount, booking_code: bookingCode } },
      body: appointment(14),
    });
    this.narrator.done('moved', `${bookingCode}, to ${data!.booking_on}`);
  }

  async cancel(bookingCode: string): Promise<void> {
    await this.client.DELETE(BOOKING, { params: { path: { ...this.ofAccount, booking_code: bookingCode } } });
    this.narrator.done('cancelled', bookingCode);
  }

  async registrationResult(svcEligibilityId: string): Promise<void> {
    await this.client.POST('/registrations/registration/results', {
      body: {
        examDate: '2026-11-20 09:00',
        examProcessingStatus: 'Completed',
        examMetaData: { examCode: svcEligibilityId, simulatedExam: false, extRecordLocator: 'LOCATOR-1' },
        overAllComments: 'No incident.',
      },
    });
    this.narrator.done('result accepted', 'POST /registrations/registration/results');
  }

  async accountResult(candidateId: string): Promise<void> {
    await this.client.PUT('/accounts/{account_code}', {
      params: { path: this.ofAccount },
      body: {
        candidate_id: candidateId,
        result_id: 'RESULT-1',
        result: 'pass',
        overall_score_scaled: 480,
        overall_score_pct: '96',
      },
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
    const { data = [] } = await this.client.GET(EXAM, { params: { path: this.exam(candidateId) } });
    const [record] = data;
    if (record?.status !== expected) throw new Error(`The eligibility is ${record?.status}, not ${expected}.`);
    this.narrator.done('eligibility', expected);
  }

  async expectResults(candidateId: string, sources: string[]): Promise<void> {
    const { data: results = [] } = await this.client.GET(`${EXAM}/results`, {
      params: { path: this.exam(candidateId) },
    });
    const found = results.map(({ source }) => source);
    if (found.join() !== sources.join()) throw new Error(`The results are of ${found.join()}, not ${sources.join()}.`);
    this.narrator.done(
      'both results are kept',
      results.map((one) => `revision ${one.revision} ${one.source}`).join(', '),
    );
  }

  /** Waits until the booking's event is in the error queue. */
  async expectQueued(bookingCode: string): Promise<Notification> {
    const notification = await this.eventually(async () => {
      const { data = [] } = await this.operator.GET('/admin/error-queue', {
        params: { query: { booking_code: bookingCode } },
      });
      return data[0];
    }, `an event of booking ${bookingCode} in the error queue`);
    const { id, change_reason, failure, http_status, retry } = notification;
    if (failure !== 'client_error' || http_status !== 400 || retry !== 'MANUAL')
      throw new Error(`The event is in the error queue as ${JSON.stringify(notification)}.`);
    this.answers.push('400');
    this.narrator.done('in the error queue', `${change_reason}, ${failure} ${http_status}, retry ${retry}`);
    this.narrator.note(`notification ${id}`);
    const { data: summary = [] } = await this.operator.GET('/admin/error-queue/summary');
    const causes = summary.filter((cause) => cause.subscription_id === this.subscriptionId);
    this.narrator.done('summary of the queue', causes.map((cause) => `${cause.count} of this cause`).join(', '));
    return notification;
  }

  async resend({ id }: Notification, bookingCode: string): Promise<void> {
    await this.operator.POST('/admin/error-queue/{notification_id}/resend', {
      params: { path: { notification_id: id } },
      body: { reason: 'the candidate is known now' },
    });
    this.narrator.done('resend asked for', 'POST /admin/error-queue/{notification_id}/resend');
    const [refused, again] = await this.partner.receivedFor(bookingCode, 2, PATIENCE_MS);
    if (!again.raw.equals(refused.raw) || again.headers['webhook-id'] !== id)
      throw new Error('What was sent again is not the same notification, byte for byte.');
    this.assertSigned(again);
    this.answers.push('200');
    const detail = await this.eventually(async () => {
      const { data } = await this.operator.GET('/admin/notifications/{id}', { params: { path: { id } } });
      return data?.state === 'DELIVERED' ? data : undefined;
    }, 'the delivery');
    const attempts = detail.attempts.map((attempt) => `${attempt.trigger} ${attempt.http_status ?? attempt.failure}`);
    this.narrator.done(detail.state, `the same bytes and webhook-id; attempts: ${attempts.join(', ')}`);
  }

  /** Checks that there is one event of this kind, both in the service and at the partner. */
  async expectOnce(bookingCode: string, changeReason: Notification['change_reason']): Promise<void> {
    const { data: made = [] } = await this.operator.GET('/admin/notifications', {
      params: { query: { booking_code: bookingCode, change_reason: changeReason } },
    });
    const got = this.partner.requests.filter(({ json }) => {
      const body = json as { booking_code: string; change_reason: string };
      return body.booking_code === bookingCode && body.change_reason === changeReason;
    });
    if (made.length !== 1 || got.length !== 1)
      throw new Error(`${changeReason} was made ${made.length} times and received ${got.length} times.`);
    this.narrator.done(`${changeReason} came once`, 'for two results');
  }

  async expectEmptyQueue(): Promise<void> {
    const { data: queue = [] } = await this.operator.GET('/admin/error-queue', {
      params: { query: { subscription_id: this.subscriptionId } },
    });
    if (queue.length > 0) throw new Error(`The error queue holds ${queue.length} notifications.`);
    this.narrator.done('the error queue is empty');
  }

  private assertSigned({ headers, raw }: PartnerRequest): void {
    if (!isSigned(headers, raw, this.signingSecret)) throw new Error('The signature of a notification is wrong.');
  }

  private get ofAccount() {
    return { account_code: this.account };
  }

  private exam(candidateId: string) {
    return { ...this.ofAccount, candidate_id: candidateId, test_code: TEST_CODE };
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
    delivery_mode: 'SITE_PROCTORED' as const,
    location_code: 'TC-042',
    location_name: 'Springfield Test Center',
    location_address: '1 Main St, Springfield, IL',
    location_timezone: 'America/Chicago',
  };
}
