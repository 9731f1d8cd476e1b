import { ExpirySweep } from '../../src/eligibility/expiry-sweep';
import { EventStreams } from '../../src/console/event-streams';
import { openApiDocument } from '../../src/openapi/document';
import { CLIENT_SCOPES, SCOPES, type Scope } from '../../src/platform/context/caller';
import { sha256 } from '../../src/platform/secrets';
import type { Answer, TestApp } from './app';
import { dateTime, siteBooking } from './given';
import { eventually } from './eventually';
import { OAuth } from './oauth';
import { makeSide, NOWHERE, REASON, type Places, type Side } from './sides';

export interface Operation {
  name: string;
  method: string;
  path: string;
  /** The scopes that the route accepts. A token needs one of them. Empty for a public route. */
  scopes: Scope[];
  filters: string[];
  hasBody: boolean;
}

interface Caller {
  name: string;
  token: string | undefined;
  scopes: readonly Scope[];
  /** The status that every response to this caller must have, regardless of the parameters. */
  always?: number;
  /** Whether the caller is a partner of the account Z with a different subscription, which has no data. */
  isNeighbour?: boolean;
  /**
   * Whether the caller is staff of an account without data. The responses to this caller must be the same as before any
   * data existed.
   */
  hasNothing?: boolean;
}

/** The path and the body of a request. */
interface Asked {
  path: string;
  body?: unknown;
}
interface Case {
  theirs: Asked;
  nowhere?: Asked;
}

const body = (at: Places) => ({
  test_code: at['test_code'],
  eligibility_end_date: dateTime(Date.now() + 86_400_000),
  voucher_codes: [at['vouchers']],
  candidate: {
    candidate_id: at['candidate_id'],
    first_name: 'Ada',
    last_name: 'Lovelace',
    school_code: at['schools'],
    special_accommodations: [at['accommodations']],
  },
});
const filters = (at: Places) =>
  ['account_code', 'subscription_id', 'booking_code', 'candidate_id'].flatMap((member) => [
    { ...REASON, filter: { [member]: at[member] }, dry_run: true },
    { ...REASON, filter: { [member]: at[member] } },
  ]);

/** The request bodies of operations that clients or staff may call, with the ids and codes of one account's objects. */
const BODIES: Record<string, (at: Places) => unknown[]> = {
  'POST /admin/subscriptions/{id}/sample': () => [{}],
  'POST /admin/error-queue/{notification_id}/resend': () => [REASON],
  'POST /admin/error-queue/{notification_id}/resolve': () => [REASON],
  'POST /admin/error-queue/resend': filters,
  'POST /admin/error-queue/resolve': filters,
  'POST /admin/notifications/replay': (at) => [{ ...REASON, subscription_id: at['subscription_id'], filter: {} }],
  'POST /partner/notifications/replay': (at) => [
    { ids: [at['notifications'], at['notification_id']] },
    { booking_code: at['booking_code'] },
    {},
  ],
  'POST /partner/notifications/{id}/resend': () => [REASON],
  'POST /partner/notifications/poll': (at) => [
    { subscription_id: at['subscription_id'], return_immediately: true },
    { ack: [at['notifications']], return_immediately: true },
    { ack: [at['notification_id']], return_immediately: true },
    { refuse: [{ id: at['notification_id'], reason: 'OTHER' }], return_immediately: true },
  ],
  'POST /admin/eligibilities/{svc_id}/hold': () => [REASON],
  'POST /admin/eligibilities/{svc_id}/decline-accommodations': () => [REASON],
  'POST /admin/eligibilities/{svc_id}/result/hold': () => [REASON],
  'POST /admin/eligibilities/{svc_id}/result/release': () => [REASON],
  'POST /admin/eligibilities/{svc_id}/result/revoke': () => [REASON],
  'POST /admin/unmatched-results/{id}/reject': () => [REASON],
  'POST /admin/unmatched-results/{id}/accept': (at) => [
    { svc_eligiblity_id: at['open_id'] },
    { booking_code: at['booking_code'] },
  ],
  'POST /accounts/{account_code}/candidates': (at) => [body(at)],
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}': (at) => [body(at)],
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/vouchers': (at) => [[at['vouchers']]],
  'POST /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/bookings': () => [siteBooking()],
  'PUT /accounts/{account_code}/bookings/{booking_code}': () => [siteBooking()],
  'POST /accounts/{account_code}/bookings/{booking_code}/absence': () => [{ excused: true }],
  'POST /accounts/{account_code}/eligibility-imports': (at) => [
    `candidate_id,first_name,last_name,test_code\n${at['candidate_id']},A,B,${at['test_code']}\n`,
  ],
  'POST /registrations/registration/results': (at) => [
    { examMetaData: { examCode: at['open_id'] } },
    { examMetaData: { examCode: at['booking_code'] } },
    { examMetaData: { extRecordLocator: at['locator'] } },
  ],
  'PUT /accounts/{account_code}': (at) => [
    { candidate_id: at['candidate_id'], result: 'P' },
    { result_id: at['result_id'], result: 'P' },
  ],
};
/** Parameters of public routes. Such a parameter identifies data of an account only if its value is a secret. */
const OPEN: Places = { code: 'validation_error', launch_code: 'hT3kq0Qm6mS8m1v5pX2wZr9aYc4dLfJgNbVtUoEiKsA' };
/** Parameters of operators' routes. Any value works, because no value is looked up for these callers. */
const OPERATORS: Places = { username: 'somebody', consumer_key: 'K7MWQ2XA9PDRB7K2M9QX', name: 'on-call' };
/** The query parameters that some lists require. */
const NEEDED: Record<string, string> = {
  'GET /admin/candidates': 'q=Side',
  'GET /partner/digest': 'from=2020-01-01T00:00:00Z&to=2040-01-01T00:00:00Z&step_s=31536000',
  'GET /admin/eligibilities': 'waiting_for=HOLD',
  'GET /accounts/{account_code}/candidates/{candidate_id}/eligibilities': 'status=all',
};
const STREAM = 'GET /admin/events';
/** The filters whose values do not identify data of an account. */
const PLAIN = new Set(
  'limit cursor after exam_in kind state from to change_reason failure reason http_status retry outcome status updated_since waiting_for media action dry_run organisation step_s order failing'.split(
    ' ',
  ),
);

/**
 * Tests isolation: every caller without rights to the account Z calls every operation of the OpenAPI document. `faults`
 * lists responses that contain data of Z, responses that differ from those for unknown objects, and changes to Z's
 * data.
 */
export class Isolation {
  readonly operations: Operation[];
  private readonly callers: Caller[] = [];
  private readonly before = new Map<string, string>();
  private state = '';
  /** The names of the partners of the account Z that have another subscription. */
  private readonly neighbours: string[] = [];
  a!: Side;
  z!: Side;

  constructor(readonly app: TestApp) {
    const { paths } = openApiDocument(app.app, app.config);
    this.operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item as Record<string, any>).map(([method, { security = [], parameters = [], requestBody }]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        scopes: (security as { oauth2?: Scope[] }[]).flatMap(({ oauth2 }) => oauth2 ?? []),
        filters: (parameters as { in: string; name: string }[])
          .filter((one) => one.in === 'query')
          .map((one) => one.name),
        hasBody: requestBody !== undefined,
      })),
    );
  }

  async prepare(): Promise<void> {
    const { given } = this.app;
    const b = await given.account();
    const staffOfB = await given.token([b], ['support']);
    for (const operation of this.operations.filter((one) => this.isPlainList(one)))
      this.before.set(operation.name, shape(await this.ask(operation, staffOfB, { path: this.plain(operation) })));
    const drivers: string[] = [];
    const driverOf = async (account: string) => {
      // Both accounts use the same test driver, whose user gets access to each account when the account is created.
      if (drivers.length === 0) drivers.push(await given.token([account], ['results']));
      else
        await given.sql(
          `INSERT INTO user_accounts SELECT username, $2 FROM user_accounts u JOIN users USING (username)
           WHERE u.account_code = $1 AND scopes = '{results}'`,
          [this.a.account, account],
        );
      return drivers[0];
    };
    this.a = await makeSide(this.app, driverOf);
    this.z = await makeSide(this.app, driverOf);
    const revoked = await given.token([this.z.account], SCOPES);
    await given.sql('DELETE FROM access_tokens WHERE token_hash = $1', [sha256(revoked)]);
    const ofA = [this.a.account];
    const ofBoth = [this.a.account, b];
    this.callers.push(
      { name: 'nobody', token: undefined, scopes: [], always: 401 },
      { name: 'a revoked token of the account', token: revoked, scopes: [], always: 401 },
      { name: 'a token of the account without any scope of the route', token: '', scopes: [], always: 403 },
      { name: 'a client of another account', token: await given.token(ofA), scopes: CLIENT_SCOPES },
      { name: 'a client of two others', token: await given.token(ofBoth), scopes: CLIENT_SCOPES },
      { name: 'support of another account', token: await given.token(ofA, ['support']), scopes: ['support'] },
      { name: 'support of two others', token: await given.token(ofBoth, ['support']), scopes: ['support'] },
      { name: 'support of an account without data', token: staffOfB, scopes: ['support'], hasNothing: true },
    );
    await this.addPartners();
    // The background work that follows the creation of data must end before responses are compared. The expiry sweep,
    // which otherwise runs every minute, is therefore run now.
    await this.app.app.get(ExpirySweep, { strict: false }).run();
    for (let last = ''; last !== this.state || last === '';) {
      last = this.state;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      this.state = await this.stateOfZ();
    }
  }

  /**
   * Adds partners that have another subscription or none. Each partner is added as a user and as an application. A
   * partner with another subscription of the account Z is called a neighbour. The neighbour's subscription is
   * unverified, and therefore has no notifications.
   */
  private async addPartners(): Promise<void> {
    const { given } = this.app;
    const [{ id: neighbour }] = await given.sql(
      `INSERT INTO subscriptions (id, account_code, partner_url, change_reasons, auth, auto_retry_on, signing_secret,
         state, health, created_datetime, updated_datetime)
       SELECT gen_random_uuid(), account_code, 'https://neighbour.example', change_reasons, auth, auto_retry_on, '',
         'UNVERIFIED', 'UP', now(), now() FROM subscriptions WHERE id = $1 RETURNING id`,
      [this.z.subscribed.id],
    );
    const oauth = new OAuth(this.app);
    const partners: [what: string, ids: string[], isNeighbour: boolean][] = [
      ['another account', [this.a.subscribed.id], false],
      ['the same account', [neighbour], true],
      ['no subscription', [], false],
    ];
    for (const [what, ids, isNeighbour] of partners) {
      const application = await oauth.application(['partner'], ['client_credentials'], { subscriptionIds: ids });
      const granted = (await oauth.ofApplication(application)).body as { access_token: string };
      const callers = [
        { name: `a partner of ${what}`, token: await given.token([], ['partner'], ids) },
        { name: `an application of a partner of ${what}`, token: granted.access_token },
      ];
      this.callers.push(...callers.map((caller) => ({ ...caller, scopes: ['partner'] as const, isNeighbour })));
      if (!isNeighbour) continue;
      const users = await given.sql('SELECT username FROM users WHERE subscription_ids = $1', [ids]);
      this.neighbours.push(application.consumer_key, ...users.map(({ username }) => username as string));
    }
  }

  /** Returns the isolation faults of an operation. Throws an error if a parameter or the body is unknown. */
  async faults(operation: Operation): Promise<string[]> {
    const faults: string[] = [];
    for (const caller of this.callers) {
      if (caller.hasNothing && operation.method !== 'GET') continue;
      const mayCall = operation.scopes.some((scope) => caller.scopes.includes(scope));
      if (operation.name === STREAM && mayCall) faults.push(...(await this.streamFaults(operation, caller)));
      else
        for (const one of this.cases(operation, mayCall))
          faults.push(
            ...(await this.caseFaults(operation, caller, mayCall, one)).map((fault) => `${caller.name}: ${fault}`),
          );
    }
    await this.jobsEnded();
    // Deletes the results that caller A has just sent: they name objects of Z, which would look like leaks of Z's data.
    await this.app.given.sql('DELETE FROM unmatched_results WHERE NOT id::text = ANY ($1)', [
      [...this.a.marks, ...this.z.marks],
    ]);
    // The filters are removed from the jobs that the callers have just started. The filters may name objects of the
    // account Z, which would look like leaks in lists of jobs.
    await this.app.given.sql(
      `UPDATE jobs SET filter =
         (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(filter) WHERE key = 'account_codes')
       WHERE NOT id::text = ANY ($1)`,
      [[...this.a.marks, ...this.z.marks]],
    );
    const state = await this.stateOfZ();
    if (state !== this.state && operation.name !== STREAM) {
      const before = this.state.split(' ');
      const changed = state.split(' ').filter((table, index) => table !== before[index]);
      faults.push(`changed: ${changed.map((table) => table.slice(0, -32)).join(', ')}`);
    }
    this.state = state;
    return faults;
  }

  /** Waits until no caller's job is preparing or running, so that lists of jobs can be compared. */
  private async jobsEnded(): Promise<void> {
    const known = [...this.a.marks, ...this.z.marks];
    await eventually(async () => {
      const running = await this.app.given.sql(
        `SELECT id FROM jobs WHERE state IN ('PREPARING', 'RUNNING') AND NOT id::text = ANY ($1)`,
        [known],
      );
      if (running.length > 0) throw new Error(`${running.length} jobs are running.`);
    }, 30_000);
  }

  private async caseFaults(operation: Operation, caller: Caller, mayCall: boolean, { theirs, nowhere }: Case) {
    const token = caller.token === '' ? await this.tokenWithout(operation) : caller.token;
    const answer = await this.ask(operation, token, theirs);
    const sent = decodeURIComponent(theirs.path) + JSON.stringify(theirs.body ?? '');
    const told = this.z.marks
      .filter((mark) => !(caller.isNeighbour && mark === this.z.account))
      .filter((mark) => answer.text.includes(mark) && !sent.includes(mark));
    const faults = told.map((mark) => `${theirs.path} tells of ${mark}`);
    if (operation.scopes.length === 0) return faults;
    const expected = caller.always ?? (mayCall ? undefined : 403);
    if (expected !== undefined && answer.status !== expected) faults.push(`${theirs.path} answers ${answer.status}`);
    if (expected !== undefined) return faults;
    if (caller.hasNothing && this.before.has(operation.name) && theirs.path === this.plain(operation))
      if (shape(answer) !== this.before.get(operation.name)) faults.push(`${theirs.path} is ${shape(answer)}`);
    // The account itself is not hidden from a partner that has a subscription of this account.
    const named = theirs.path.includes(this.z.account);
    if (nowhere && !(caller.isNeighbour && named)) {
      const other = await this.ask(operation, token, nowhere);
      const [found, unknown] = [this.comparable(answer), this.comparable(other)];
      if (found !== unknown) faults.push(`${theirs.path}: ${found} differs from ${unknown}`);
      if (named && answer.status !== 403) faults.push(`${theirs.path} answers ${answer.status}`);
    }
    return faults;
  }

  private cases(operation: Operation, mayCall: boolean): Case[] {
    const { name, path, method, hasBody, scopes } = operation;
    const places = [this.z.places, NOWHERE, this.a.places] as const;
    const [theirs, nowhere, own] = places.map((at) => this.fill(operation, at));
    if (!mayCall) return [{ theirs: { path: theirs, body: hasBody && scopes.length > 0 ? {} : undefined } }];
    if (hasBody && BODIES[name] === undefined) throw new Error(`No body is known for ${name}.`);
    const [ofZ, ofNone] = places.map((at) => (hasBody ? BODIES[name](at) : [undefined]));
    const cases: Case[] = [];
    for (const [n, body] of ofZ.entries()) {
      if (theirs !== own) cases.push({ theirs: { path: theirs, body }, nowhere: { path: nowhere, body: ofNone[n] } });
      if (theirs === own || JSON.stringify(body) !== JSON.stringify(ofNone[n]))
        cases.push({ theirs: { path: own, body }, nowhere: { path: own, body: ofNone[n] } });
    }
    if (/\{account_code\}.*\{/.test(path)) {
      const mixed = (at: Places) => this.fill(operation, { ...at, account_code: this.a.account });
      for (const [n, body] of ofZ.entries())
        cases.push({
          theirs: { path: mixed(this.z.places), body },
          nowhere: { path: mixed(NOWHERE), body: ofNone[n] },
        });
    }
    if (method === 'GET') {
      cases.push({ theirs: { path: own } });
      for (const filter of operation.filters.filter((one) => !PLAIN.has(one))) {
        if (NOWHERE[filter] === undefined) throw new Error(`No value is known for the filter ${filter} of ${name}.`);
        const [base, joint] = filter === 'q' ? [operation.path, '?'] : [own, own.includes('?') ? '&' : '?'];
        const by = (at: Places) => `${base}${joint}${filter}=${at[filter]}`;
        cases.push({ theirs: { path: by(this.z.places) }, nowhere: { path: by(NOWHERE) } });
      }
    }
    return cases;
  }

  /** Checks that the event stream of staff without data reports nothing while all data of the account Z changes. */
  private async streamFaults(operation: Operation, caller: Caller): Promise<string[]> {
    if (!caller.hasNothing) return [];
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${caller.token}` };
    const response = await fetch(this.app.url + operation.path, { headers, signal: abort.signal });
    let text = '';
    const read = (async () => {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        text += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    for (const statement of [
      `UPDATE jobs SET reason = reason || '.' WHERE account_code = $1`,
      `UPDATE eligibility_imports SET finished_datetime = now() WHERE account_code = $1`,
      `UPDATE eligibilities SET hold_reason = 'again', status = 'PENDING' WHERE account_code = $1 AND status = 'ELIGIBLE'`,
      `UPDATE subscriptions SET state = CASE state WHEN 'ACTIVE' THEN 'SUSPENDED' ELSE 'ACTIVE' END WHERE account_code = $1 AND state <> 'UNVERIFIED'`,
      `UPDATE unmatched_results SET staff_account_codes = staff_account_codes || $1 WHERE staff_account_codes @> ARRAY[$1]`,
    ])
      await this.app.given.sql(statement, [this.z.account]);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    await this.app.app.get(EventStreams).poll();
    await new Promise((resolve) => setTimeout(resolve, 200));
    abort.abort();
    await read;
    return text.includes('event:') ? [`${caller.name}: the stream tells ${text}`] : [];
  }

  private ask(
    { method, path: template }: Operation,
    token: string | undefined,
    { path, body }: Asked,
  ): Promise<Answer> {
    const headers: Record<string, string> = typeof body === 'string' ? { 'content-type': 'text/csv' } : {};
    if (template.startsWith('/console')) headers['console-request'] = '1';
    return this.app.call(method, path, { token, body, headers });
  }

  private fill({ name, path, scopes }: Operation, at: Places): string {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
      const folder = path
        .slice(0, path.indexOf(`/{${parameter}}`))
        .split('/')
        .at(-1)!;
      const value =
        scopes.length === 0
          ? OPEN[parameter]
          : (at[parameter === 'id' || parameter === 'code' ? folder : parameter] ?? OPERATORS[parameter]);
      if (value === undefined) throw new Error(`No value is known for {${parameter}} of ${name}.`);
      return encodeURIComponent(value);
    });
    return `${filled}?${NEEDED[name] ?? ''}`.replace(
      /\?$/,
      NEEDED[name] || !this.takesFilters(name) ? '' : '?limit=200',
    );
  }

  private takesFilters(name: string): boolean {
    return this.operations.find((one) => one.name === name)!.filters.includes('limit');
  }

  private plain(operation: Operation): string {
    return this.fill(operation, NOWHERE);
  }

  private isPlainList({ name, method, path, scopes }: Operation): boolean {
    return method === 'GET' && scopes.includes('support') && !path.includes('{') && name !== STREAM;
  }

  private async tokenWithout({ scopes }: Operation): Promise<string> {
    const others = SCOPES.filter((scope) => !scopes.includes(scope) && scope !== 'admin');
    return this.app.given.token([this.z.account], others);
  }

  /**
   * Returns a response without `request_id` and `instance`. The ids and codes of objects are replaced with
   * placeholders, so that responses about different objects can be compared.
   */
  private comparable({ status, text }: Answer): string {
    let told = text.replace(/"(request_id|instance)":"[^"]*",?/g, '');
    for (const at of [this.z.places, NOWHERE])
      for (const [name, value] of Object.entries(at))
        if (value.length > 1) told = told.replaceAll(value, `<${KINDS[name] ?? name}>`);
    return `${status} ${told.replace(UUIDS, '<uuid>').replace(TIMES, '<time>')}`;
  }

  /**
   * Returns a hash of all rows that belong to the account Z, except rows that name another partner of Z as the actor.
   */
  private async stateOfZ(): Promise<string> {
    const tables = await this.app.given.sql(
      `SELECT table_name AS name FROM information_schema.tables
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
         AND table_name NOT IN ('access_tokens', 'token_families', 'user_accounts', 'users', 'applications') ORDER BY 1`,
    );
    const ids = Object.values(this.z.marks);
    const text = tables.map(
      ({ name }) => `SELECT '${name}' || coalesce(md5(string_agg(r::text, ' ' ORDER BY r::text)), '') AS hash
        FROM (SELECT to_jsonb(t) AS r FROM "${name}" t) rows
        WHERE NOT coalesce(r->>'actor' = ANY ($3::text[]), false) AND (r->>'account_code' = $1 OR r->>'id' = ANY ($2::text[]) OR r->>'job_id' = ANY ($2::text[])
          OR r->>'subscription_id' = ANY ($2::text[]) OR r->>'svc_eligiblity_id' = ANY ($2::text[]))`,
    );
    const rows = await this.app.given.sql(text.join(' UNION ALL '), [this.z.account, ids, this.neighbours]);
    return rows.map(({ hash }) => hash as string).join(' ');
  }
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIMES = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
/** Maps parameters that take the same kind of value to the same name. */
const KINDS: Record<string, string> = {};
for (const name of [
  'subscriptions',
  'subscription_id',
  'notifications',
  'unmatched-results',
  'notification_id',
  'job_id',
])
  KINDS[name] = 'uuid';
for (const name of ['resend_id', 'import_id']) KINDS[name] = 'uuid';
for (const name of ['svc_eligibility_code', 'subject', 'open_id', 'svc_id']) KINDS[name] = 'code';
for (const name of ['actor', 'username']) KINDS[name] = 'user';
for (const name of ['q', 'result_id']) KINDS[name] = 'name';

/** Returns a response without the times in it, so that responses can be compared. */
function shape({ status, text }: Answer): string {
  return `${status} ${text.replace(TIMES, '<time>')}`;
}
