import { partnerExamples } from './partner-examples.js';
import type { OperationValues, SandboxClient, Values } from './sandbox-client.js';
import { makeSpareEntries } from './spare-entries.js';

export interface SandboxAccess {
  account_code: string;
  partner: { partner_url: string; ca_pem: string };
}

const TEST = 'SANDBOX-ONE';
/** The name of the account that contains the sample partners and the entries for the examples of DELETE. */
const SAMPLES = 'Sandbox samples';
const END = '2099-12-31T23:59:59Z';
const EXAM = '2098-06-15T14:00:00Z';
const NEEDS_APPROVAL = 'EXTRA-TIME';

const RECORD = '/admin/eligibilities/{svc_id}';
const ACCOUNT = '/accounts/{account_code}';
const CATALOGUE = `/admin${ACCOUNT}`;
const OF_TEST = `${ACCOUNT}/candidates/{candidate_id}/tests/{test_code}`;
const BOOKING = `${ACCOUNT}/bookings/{booking_code}`;
const SUBSCRIPTION = '/admin/subscriptions/{id}';
const UNMATCHED = '/admin/unmatched-results/{id}';

/**
 * Creates one object of each kind that the examples of the OpenAPI document name: records, bookings, results, partners,
 * notifications, jobs, unmatched results and an import. Each example that changes or deletes an object has its own
 * object, so the examples work in any order. The objects are created by requests, as a client would create them.
 *
 * Objects that only operators read belong to a second account. The sample partners therefore get no notification about
 * the bookings in the sandbox's own account. The catalogue of the sandbox's own account contains no entries to delete.
 */
export class SandboxExamples {
  private candidates = 100;
  /** The prefix of the ids of all sample candidates. */
  private prefix = 'S-';
  private readonly values: OperationValues = {};
  /** The code of the account that contains the sample partners and the entries for the examples of DELETE. */
  private samples = '';

  constructor(
    private readonly client: SandboxClient,
    private readonly access: SandboxAccess,
  ) {}

  async make(): Promise<OperationValues> {
    this.samples = await this.samplesAccount();
    await this.catalogue();
    await Promise.all([
      this.records(),
      this.bookings(),
      this.results(),
      this.unmatchedResults(),
      this.imports(),
      this.partners(),
    ]);
    return this.values;
  }

  /** Sets the values for the examples of the given operations. */
  private use(values: Values, ...operations: string[]): void {
    for (const operation of operations) this.values[operation] = { ...this.values[operation], ...values };
  }

  private async records(): Promise<void> {
    const first = await this.record({ last_name: 'Lovelace', email: 'ada@example.org' });
    this.use({ ...first, svc_eligibility_code: first['svc_id'], q: first['candidate_id'] }, '*', `PUT ${OF_TEST}`);
    this.use(await this.record(), `DELETE ${OF_TEST}`);
    this.use(await this.record(), `POST ${RECORD}/hold`);
    const held = await this.record();
    await this.client.call('POST', `/admin/eligibilities/${held['svc_id']}/hold`, {
      reason: 'The identity is being checked.',
    });
    this.use(held, `POST ${RECORD}/release`);
    for (const decision of ['approve', 'decline'])
      this.use(
        await this.record({ special_accommodations: [NEEDS_APPROVAL] }),
        `POST ${RECORD}/${decision}-accommodations`,
      );
    const launched = await this.record();
    const { launch_url: link } = await this.client.call<Values>(
      'GET',
      `/eligibilities/${launched['svc_id']}/testLaunchInfo`,
    );
    this.use({ launch_code: link.split('/launch/')[1] }, 'GET /launch/{launch_code}');
    this.use(await this.record(), `POST ${CATALOGUE}/candidates/{candidate_id}/erase`);
    const erased = await this.record();
    const { job_id } = await this.client.call<Values>(
      'POST',
      `/admin/accounts/${this.access.account_code}/candidates/${erased['candidate_id']}/erase`,
      { reason: 'Asked for by the candidate.' },
    );
    this.use({ job_id }, 'POST /admin/jobs/{job_id}/unmatched-results/erase');
  }

  private async bookings(): Promise<void> {
    this.use(await this.record(), `POST ${OF_TEST}/bookings`);
    this.use(await this.booking(), `GET ${BOOKING}`);
    this.use(await this.booking(), `PUT ${BOOKING}`);
    this.use(await this.booking(), `DELETE ${BOOKING}`);
    this.use(await this.booking(), `POST ${BOOKING}/absence`);
    this.use(await this.booking(), 'POST /sandbox/events');
  }

  private async results(): Promise<void> {
    const { booking_code } = await this.booking();
    this.use({ examCode: booking_code }, 'POST /registrations/registration/results');
    const { candidate_id } = await this.booking();
    this.use({ candidate_id }, `PUT ${ACCOUNT}`);
    const done = await this.booking();
    await this.deliver({ examMetaData: { examCode: done['booking_code'] }, overAllComments: 'Nothing remarkable.' });
    this.use(
      done,
      `GET ${OF_TEST}/results`,
      `GET ${RECORD}/results/{revision}`,
      `GET ${CATALOGUE}/candidates/{candidate_id}/results`,
      ...['hold', 'release', 'revoke'].map((decision) => `POST ${RECORD}/result/${decision}`),
    );
  }

  private async unmatchedResults(): Promise<void> {
    const unmatched = async (body: object | string) => ({
      id: (await this.deliver(body))['unmatched_result_id'],
    });
    // The service stores equal bodies only once, so each body has its own exam code.
    let strays = 0;
    const stray = () =>
      unmatched({
        examMetaData: { examCode: `NO-SUCH-EXAM-${++strays}` },
        examTakerFirstName: 'Ada',
        examTakerLastName: 'Lovelace',
      });
    const { booking_code } = await this.booking();
    const shown = await stray();
    this.use(shown, `GET ${UNMATCHED}`, `GET ${UNMATCHED}/candidates`);
    this.use({ ...shown, code: booking_code }, `GET ${UNMATCHED}/exam`);
    this.use(await stray(), `POST ${UNMATCHED}/reject`);
    this.use({ ...(await stray()), booking_code }, `POST ${UNMATCHED}/accept`);
    this.use(await unmatched('{"examMetaData":'), `GET ${UNMATCHED}/raw`);
  }

  private async imports(): Promise<void> {
    const rows = `candidate_id,first_name,last_name,test_code\nS-001,Grace,Hopper,${TEST}\nS-002,Alan,Turing,NO-SUCH-TEST\n`;
    const path = `/accounts/${this.access.account_code}/eligibility-imports`;
    const { import_id } = await this.client.call<Values>('POST', path, rows, 'text/csv');
    await this.client.until(
      async () => (await this.client.call<Values>('GET', `${path}/${import_id}`))['state'] === 'DONE',
    );
    this.use({ import_id }, '*');
  }

  private async samplesAccount(): Promise<string> {
    const accounts = await this.client.call<Values[]>('GET', '/admin/accounts?limit=200');
    // If an earlier start was interrupted, the account may already exist.
    const { account_code } =
      accounts.find(({ name }) => name === SAMPLES) ??
      (await this.client.call<Values>('POST', '/admin/accounts', { name: SAMPLES }));
    const test = { name: 'A sample test', portions: [{ portion_code: 'MAIN' }] };
    await this.client.call('PUT', `/admin/accounts/${account_code}/tests/${TEST}`, test);
    return account_code;
  }

  private async catalogue(): Promise<void> {
    Object.assign(this.values, await makeSpareEntries(this.client, this.samples));
    const { consumer_key } = await this.client.call<Values>('POST', '/admin/applications', {
      name: 'Sample application',
      scopes: ['read'],
    });
    const { ok } = await this.client.send('POST', '/admin/users', {
      username: 'sample-user',
      password: `Sample-${crypto.randomUUID()}`,
      account_codes: [this.samples],
      scopes: ['read'],
    });
    // The user already exists if an earlier start was interrupted. The candidates of that start may exist, too, so the
    // new candidates get another prefix.
    if (!ok) this.prefix = `S-${crypto.randomUUID().slice(0, 4)}-`;
    this.use({ consumer_key, username: 'sample-user' }, '*');
  }

  /**
   * Creates partners, notifications in the error queue, and jobs. They belong to the account that contains the sample
   * partners. The jobs stay unfinished, because their partner is suspended.
   */
  private async partners(): Promise<void> {
    const kept = await this.subscription('A partner');
    const refusing = await this.subscription('A partner that refuses', '/samples');
    const suspended = await this.subscription('A suspended partner', '/samples');
    const failed: Record<string, { id: string; booking_code: string; subscription_id: string }[]> = {};
    const missed = await Promise.all(Array.from({ length: 5 }, () => this.booking(this.samples)));
    for (const { booking_code } of missed)
      await this.client.call('POST', `/accounts/${this.samples}/bookings/${booking_code}/absence`, {
        excused: false,
      });
    for (const id of [refusing, suspended])
      await this.client.until(async () => {
        failed[id] = await this.client.call('GET', `/admin/error-queue?subscription_id=${id}`);
        return failed[id].length === missed.length;
      });
    this.use({ id: kept }, '*', `POST ${SUBSCRIPTION}/verify`);
    this.use({ subscription_id: kept }, 'POST /admin/notifications/replay');
    this.use({ id: await this.subscription('A partner to delete') }, `DELETE ${SUBSCRIPTION}`);
    this.use({ id: await this.subscription('A partner to change') }, `PATCH ${SUBSCRIPTION}`);
    const [first, second, third, fourth, fifth] = failed[refusing].map(({ id, booking_code }) => ({
      id,
      booking_code,
    }));
    this.use({ notification_id: first.id }, '*', 'POST /admin/error-queue/{notification_id}/resend');
    this.use({ id: first.id }, 'GET /admin/notifications/{id}');
    this.use({ notification_id: second.id }, 'POST /admin/error-queue/{notification_id}/resolve');
    const inSamples = { account_code: this.samples };
    this.use({ ...inSamples, booking_code: third.booking_code }, 'POST /admin/error-queue/resend');
    this.use({ ...inSamples, booking_code: fourth.booking_code }, 'POST /admin/error-queue/resolve');
    await this.client.call('POST', `/admin/subscriptions/${suspended}/suspend`);
    const job = async ({ booking_code }: { booking_code: string }) => {
      const filter = { subscription_id: suspended, booking_code };
      const reason = 'The partner has mended its endpoint.';
      const { job_id } = await this.client.call<Values>('POST', '/admin/error-queue/resend', { filter, reason });
      return { job_id, resend_id: job_id };
    };
    this.use(await job(failed[suspended][0]), '*');
    this.use(await job(failed[suspended][1]), 'POST /admin/jobs/{job_id}/abort');
    this.use(await job(failed[suspended][2]), 'POST /admin/error-queue/resends/{resend_id}/abort');
    const waiting = failed[suspended].map(({ id }) => id);
    const own = await this.subscription('A partner with access');
    const objects = { subscriptions: [own, refusing, suspended], resent: fifth.id, waiting };
    Object.assign(this.values, await partnerExamples(this.client, objects));
  }

  private async subscription(name: string, behaviour = ''): Promise<string> {
    const { partner } = this.access;
    const { id } = await this.client.call<Values>('POST', '/admin/subscriptions', {
      account_code: this.samples,
      name,
      partner_url: partner.partner_url + behaviour,
      ca_pem: partner.ca_pem,
      change_reasons: ['ABSENT', 'EXCUSED_ABSENT'],
    });
    await this.client.call('POST', `/admin/subscriptions/${id}/verify`);
    return id;
  }

  private async record(candidate: object = {}, account = this.access.account_code): Promise<Values> {
    const candidate_id = `${this.prefix}${++this.candidates}`;
    const { svc_eligiblity_id } = await this.client.call<Values>('POST', `/accounts/${account}/candidates`, {
      test_code: TEST,
      eligibility_end_date: END,
      candidate: {
        candidate_id,
        first_name: 'Ada',
        last_name: 'Sample',
        country: 'US',
        province_state: 'NY',
        ...candidate,
      },
    });
    return { candidate_id, svc_id: svc_eligiblity_id };
  }

  private async booking(account = this.access.account_code): Promise<Values> {
    const record = await this.record({}, account);
    const { booking_code } = await this.client.call<Values>(
      'POST',
      `/accounts/${account}/candidates/${record['candidate_id']}/tests/${TEST}/bookings`,
      { booking_on: EXAM, delivery_mode: 'SVC_REMOTE_PROCTORED' },
    );
    return { ...record, booking_code };
  }

  /** Delivers a result, which the service may refuse. */
  private async deliver(body: object | string): Promise<Values> {
    const response = await this.client.send('POST', '/registrations/registration/results', body);
    return (await response.json().catch(() => ({}))) as Values;
  }
}
