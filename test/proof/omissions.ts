/**
 * Tests that a partner can detect lost notifications within a month, and gets them again without an operator.
 *
 * The TypeScript kit for partners polls the given number of notifications, whose times are spread over 30 days. Ten
 * times in the meantime, this program polls and acknowledges one notification with the partner's credentials, so that
 * the kit never gets this notification. Afterwards, the kit's `heal` function must find exactly these ten
 * notifications. Once they are replayed, the kit polls them.
 *
 * usage: npm run omissions [-- --notifications N]   (default 1000000; the exit code is 1 when `heal` misses a lost
 * notification, finds any other, or needs more than 20 calls for each lost notification)
 */
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { callJson } from '../../bench/calls.js';
import { runCommand } from '../../bench/command.js';
import { prepare, query } from '../../bench/prepare.js';
import { ServiceProcess } from '../../bench/service-process.js';
import { heal } from '../../clients/partner/src/heal.js';
import { NotificationReceiver } from '../../clients/partner/src/notification-receiver.js';
import { MemoryStore } from '../../clients/partner/src/notification-store.js';
import { PartnerApi } from '../../clients/partner/src/partner-api.js';
import { poll } from '../../clients/partner/src/poll.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { startOwnDatabase } from './own-database.js';
import { withStops, type Stop } from './stops.js';

const OMISSIONS = 10;
const MOST_CALLS = 20;
const DAY_MS = 86_400_000;
const DAYS = 30;
const AT_ONCE = 50_000;
/** The time limit, in milliseconds, for a step that waits for a lease or a replay. */
const PATIENCE_MS = 120_000;

/**
 * SQL: inserts the notifications with the numbers $3 to $4, of $5 in total. The notifications are due, and their times
 * are spread over {@link DAYS} days.
 */
const SEED = `WITH made AS (
    INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
      effective_date, body, state, created_datetime)
    SELECT gen_random_uuid(), $1, $2, 'BOOKING_CREATED', booking, 1, at, json_build_object('booking_code', booking,
      'booking_on', '2030-03-01T09:00:00Z', 'candidate_fname', 'Ada', 'candidate_id', 'C' || n, 'candidate_lname', 'Lovelace',
      'change_reason', 'BOOKING_CREATED', 'delivery_mode', 'SVC_REMOTE_PROCTORED', 'effective_date',
      to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'exam_code', 'EXAM-ONE'), 'PENDING', at
    FROM generate_series($3::int, $4::int) n, LATERAL (SELECT 'B' || lpad(n::text, 9, '0') AS booking,
      date_trunc('second', now() - make_interval(secs => (n - $5::int) * -${DAYS * 86_400}::float8 / $5::int)) AS at) event
    RETURNING subscription_id, position, booking_code, event_sequence)
  INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
  SELECT subscription_id, position, booking_code, event_sequence, 'FIRST' FROM made`;

const dateTime = (ms: number) => new Date(ms).toISOString().slice(0, 19) + 'Z';
const secondsSince = (begun: number) => ((performance.now() - begun) / 1000).toFixed(1);

async function run(stops: Stop[]): Promise<boolean> {
  const { values } = parseArgs({ options: { notifications: { type: 'string', default: '1000000' } } });
  const count = Number(values.notifications);
  const database = await startOwnDatabase('omissions', stops);
  const { folder } = database;
  await migrate(database.url);
  const { account, token } = await prepare(database.url);
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: database.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    RATE_LIMIT_PER_MINUTE: '0',
    TOKEN_RATE_LIMIT_PER_MINUTE: '0',
  });
  stops.push(() => service.kill('SIGTERM'));
  await service.start();
  const post = (path: string, body: object) => callJson(service.baseUrl, token, 'POST', `/admin/${path}`, body);
  const { id } = await post('subscriptions', { account_code: account, delivery: 'POLL' });
  const application = await post('applications', {
    name: 'partner',
    scopes: ['partner'],
    grants: ['client_credentials'],
    account_codes: [account],
    subscription_ids: [id],
  });
  const api = () =>
    new PartnerApi({
      baseUrl: service.baseUrl,
      consumerKey: application['consumer_key'],
      consumerSecret: application['consumer_secret'],
      subscriptionId: id,
    });

  for (let first = 1; first <= count; first += AT_ONCE)
    await query(database.url, SEED, [id, account, first, Math.min(count, first + AT_ONCE - 1), count]);
  await query(database.url, 'ANALYZE');

  const lost = new Set<string>();
  const thief = api();
  const lose = async (): Promise<void> => {
    const once = (body: object) =>
      thief.call<{ notifications: { id: string }[] }>('POST', 'partner/notifications/poll', {
        subscription_id: id,
        return_immediately: true,
        max: 1,
        ...body,
      });
    const [{ id: lostId }] = (await once({})).body.notifications;
    // The response to this call contains another notification. The program does not acknowledge it, so the service
    // offers it again after the lease of 10 s.
    await once({ ack: [lostId], lease_s: 10 });
    lost.add(lostId);
  };
  let processed = 0;
  const losses: Promise<void>[] = [];
  const store = new MemoryStore();
  const receiver = new NotificationReceiver({
    secrets: [],
    store,
    work: () => {
      processed += 1;
      if ((processed + Math.floor(count / OMISSIONS / 2)) % Math.floor(count / OMISSIONS) === 0) losses.push(lose());
      return Promise.resolve();
    },
    onFault: (error) => process.stderr.write(`${error.message}\n`),
  });
  const kit = api();
  const pollingBegun = performance.now();
  let acknowledged = 0;
  acknowledged += await poll(receiver, kit);
  await Promise.all(losses);
  for (const until = Date.now() + PATIENCE_MS; acknowledged + lost.size < count && Date.now() < until; await pause(500))
    acknowledged += await poll(receiver, kit);
  const polling = secondsSince(pollingBegun);

  const range = { from: dateTime(Date.now() - (DAYS + 1) * DAY_MS), to: dateTime(Date.now() + 60_000) };
  const healingBegun = performance.now();
  const found = await heal(kit, store, range);
  const healing = secondsSince(healingBegun);
  const right = found.missing.filter((one) => lost.has(one)).length;
  let healed = 0;
  for (const until = Date.now() + PATIENCE_MS; healed < lost.size && Date.now() < until; await pause(200))
    healed += await poll(receiver, kit);
  const afterwards = await heal(kit, store, range);
  process.stdout.write(
    [
      `notifications        ${acknowledged + lost.size}, of them ${acknowledged} polled by the kit in ${polling} s`,
      `omissions            ${lost.size}`,
      `found                ${right}, in ${found.calls} calls and ${healing} s`,
      `false alarms         ${found.missing.length - right}`,
      `healed               ${healed}; missing afterwards: ${afterwards.missing.length}`,
      '',
    ].join('\n'),
  );
  return (
    lost.size === OMISSIONS &&
    acknowledged + lost.size === count &&
    right === OMISSIONS &&
    found.missing.length === OMISSIONS &&
    found.calls <= OMISSIONS * MOST_CALLS &&
    healed === OMISSIONS &&
    afterwards.missing.length === 0
  );
}

runCommand(() => withStops(run));
