// Tests the kits for partners with a real service (kits.mjs).
//
// 1. Each kit gets a subscription with `delivery: "POLL"`, and an application with the `client_credentials` grant.
// 2. The program creates notifications in each of ten hours of the sandbox's clock. On behalf of the partner, it
//    acknowledges one notification of each hour, so that the kit never receives this notification. The kit polls the
//    others.
// 3. `heal` must find exactly the ten missing notifications, with at most twenty calls for each of them. After the
//    service has replayed the notifications, the kit polls them, and a second `heal` finds nothing.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { withService } from './own-service.mjs';

const HOURS = 10;
const OTHERS = 3;
const MOST_CALLS = 20;
const PATIENCE_MS = 60_000;
const TEST_CODE = 'SANDBOX-ONE';

/** Calls the service with its own tokens. */
class Caller {
  constructor(base, { consumer_key, consumer_secret, ...form }) {
    this.base = base;
    this.basic = `Basic ${Buffer.from(`${consumer_key}:${consumer_secret}`).toString('base64')}`;
    this.form = form;
  }

  async call(method, path, body) {
    for (let isFirst = true; ; isFirst = false) {
      this.token ??= await this.newToken();
      const response = await fetch(`${this.base}${path}`, {
        method,
        headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
      });
      const text = await response.text();
      if (response.ok) return text === '' ? null : JSON.parse(text);
      if (response.status !== 401 || !isFirst) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      this.token = undefined;
    }
  }

  async newToken() {
    const response = await fetch(`${this.base}/token`, {
      method: 'POST',
      headers: { authorization: this.basic },
      body: new URLSearchParams(this.form),
    });
    const { access_token, error_description } = await response.json();
    if (!response.ok) throw new Error(`POST /token: ${response.status} ${error_description}`);
    return access_token;
  }
}

/** The account whose bookings cause the notifications. */
class Account {
  bookings = 0;

  constructor(base, { account_code, client, operator }) {
    this.code = account_code;
    this.client = new Caller(base, { grant_type: 'password', ...client });
    this.operator = new Caller(base, { grant_type: 'password', ...operator });
  }

  async now() {
    return Date.parse((await this.operator.call('GET', '/sandbox/clock')).now);
  }

  /** Creates a booking, and waits until each of the subscriptions has a notification about it. */
  async book(subscriptions) {
    const candidate_id = `KIT-${++this.bookings}`;
    const now = await this.now();
    const inDays = (days) => `${new Date(now + days * 86_400_000).toISOString().slice(0, 19)}Z`;
    await this.client.call('POST', `/accounts/${this.code}/candidates`, {
      test_code: TEST_CODE,
      eligibility_end_date: inDays(90),
      candidate: { candidate_id, first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.org' },
    });
    const path = `/accounts/${this.code}/candidates/${candidate_id}/tests/${TEST_CODE}/bookings`;
    const { booking_code } = await this.client.call('POST', path, {
      booking_on: inDays(7),
      delivery_mode: 'SVC_REMOTE_PROCTORED',
      location_timezone: 'UTC',
    });
    await eventually(`the notifications of booking ${booking_code}`, async () => {
      const made = await this.operator.call('GET', `/admin/notifications?booking_code=${booking_code}`);
      return made.length === subscriptions;
    });
  }

  /** Creates a subscription and an application for a kit. */
  async partner(base, name) {
    const { id } = await this.operator.call('POST', '/admin/subscriptions', {
      account_code: this.code,
      name: `kit ${name}`,
      delivery: 'POLL',
    });
    const { consumer_key, consumer_secret } = await this.operator.call('POST', '/admin/applications', {
      name: `kit ${name}`,
      scopes: ['partner'],
      grants: ['client_credentials'],
      account_codes: [this.code],
      subscription_ids: [id],
    });
    const grant = { grant_type: 'client_credentials', scope: 'partner', consumer_key, consumer_secret };
    return { id, api: new Caller(base, grant), CONSUMER_KEY: consumer_key, CONSUMER_SECRET: consumer_secret };
  }
}

async function eventually(what, isSo) {
  for (const until = Date.now() + PATIENCE_MS; !(await isSo()); await pause(50))
    if (Date.now() > until) throw new Error(`There is no sign of ${what}.`);
}

/**
 * Polls and acknowledges one notification on behalf of the partner, so that the kit never receives this notification.
 */
async function omit({ id, api }) {
  const poll = (body) => api.call('POST', '/partner/notifications/poll', { subscription_id: id, max: 1, ...body });
  const { notifications } = await poll({});
  const { notifications: more } = await poll({ return_immediately: true, ack: notifications.map((one) => one.id) });
  if (notifications.length !== 1 || more.length !== 0)
    throw new Error('The poll did not offer exactly one notification.');
}

/**
 * Checks that each kit finds the notifications that it never received.
 *
 * @param kits the installed kits
 * @param run runs a program to its end and returns its output
 */
export async function checkHealing(kits, { folder, run }) {
  const check = async ({ base_url, folder: data }) => {
    const account = new Account(base_url, JSON.parse(readFileSync(join(data, 'sandbox.json'), 'utf8')));
    const partners = [];
    for (const kit of kits) {
      const { id, api, ...credentials } = await account.partner(base_url, kit.name);
      const env = {
        ...credentials,
        BASE_URL: base_url,
        SUBSCRIPTION_ID: id,
        STORE: join(folder, `polled-${kit.name}`),
      };
      const command = (...words) => run([...kit.run, ...words], { cwd: kit.cwd, env });
      const polled = () => Number(/(\d+) acknowledged/.exec(command('poll'))[1]);
      partners.push({ name: kit.name, id, api, command, polled });
    }
    const from = new Date((await account.now()) - 1000).toISOString().slice(0, 19) + 'Z';
    for (let hour = 0; hour < HOURS; hour += 1) {
      await account.book(partners.length);
      for (const partner of partners) await omit(partner);
      for (let other = 0; other < OTHERS; other += 1) await account.book(partners.length);
      for (const { name, polled } of partners) expectEqual(name, 'polled', polled(), OTHERS);
      await account.operator.call('POST', '/sandbox/clock', { advance_s: 3600 });
    }
    const to = new Date(await account.now()).toISOString().slice(0, 19) + 'Z';
    for (const { name, command, polled } of partners) {
      const [, missing, calls] = /(\d+) missing, found in (\d+) calls/.exec(command('heal', from, to)) ?? [];
      expectEqual(name, 'missing', Number(missing), HOURS);
      if (!(Number(calls) <= HOURS * MOST_CALLS)) throw new Error(`${name}: heal took ${calls} calls.`);
      let healed = 0;
      await eventually(`the replayed notifications of ${name}`, () => Promise.resolve((healed += polled()) === HOURS));
      expectEqual(name, 'missing afterwards', /\d+ missing/.exec(command('heal', from, to))[0], '0 missing');
      console.log(`${name}: ${missing} of ${HOURS} omissions found in ${calls} calls, and healed`);
    }
  };
  await withService(check, { TOKEN_RATE_LIMIT_PER_MINUTE: '0' }, 'scripts/start.mjs');
}

function expectEqual(name, what, found, right) {
  if (found !== right) throw new Error(`${name}: ${what}: ${found} instead of ${right}.`);
}
