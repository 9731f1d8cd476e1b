import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CONNECTIONS, Load, type LoadJob, type LoadResult } from './load.js';
import { median, medianRatio, ofRounds, round, type Section } from './figures.js';
import { Program } from './program.js';
import { withProcessorTime } from './processor-time.js';
import { clearEligibilities, clearNotifications, seedEligibilities, seedSuspendedPartner } from './seed.js';
import { BOOKING_BODY, createBody, type Scene } from './scene.js';
import { BenchedService } from './service.js';
import type { Stage } from './stage.js';
import type { ServerOptions } from './ceiling.js';

const CANDIDATES = 2_000;
const DATABASE = 'rest';
/** An upper bound for the number of bookings per second. Each round begins with enough candidates for this number. */
const MOST_BOOKINGS = 10_000;
const PROGRAMS = ['service', 'ceiling'] as const;
/** The results use this name for the service when each request has an Idempotency-Key, as the documents advise. */
const KEYED = 'service with keys';
type ProgramName = (typeof PROGRAMS)[number] | typeof KEYED;

/**
 * Maps each kind of request to the programs that are compared. A booking counts as complete when its notification has
 * been created. The notification is not sent.
 */
const KINDS = {
  create: [...PROGRAMS, KEYED],
  read: PROGRAMS,
  book: [...PROGRAMS, KEYED],
} satisfies Record<string, readonly ProgramName[]>;
type Kind = keyof typeof KINDS;
const GOALS: Record<Kind, number> = { create: 1.1, read: 1, book: 0.8 };

interface Measured extends LoadResult {
  /** The processor time of the server per request, in microseconds. */
  server: number;
  postgres: number;
}

/**
 * Measures the creation of records, reads by key, and bookings. The service and the bare server (ceiling.ts) are
 * measured in alternating rounds.
 */
export async function measureRest(stage: Stage, { rounds, seconds }: { rounds: number; seconds: number }) {
  const databaseUrl = await stage.createDatabase(DATABASE);
  const service = await BenchedService.start(join(stage.folder, DATABASE), databaseUrl);
  stage.onClear(() => service.stop());
  const { scene } = service;
  const token = await service.clientToken();
  const options: ServerOptions = { databaseUrl, portionCode: scene.portionCode };
  const [ceiling, load] = await Promise.all([
    Program.start<{ url: string }>('ceiling', options, stage.log),
    Load.start(stage.log),
  ]);
  for (const program of [ceiling, load]) stage.onClear(() => program.stop());
  const servers: Record<ProgramName, { url: string; pid: number }> = {
    service,
    ceiling: { url: ceiling.ready.url, pid: ceiling.child.pid! },
    [KEYED]: service,
  };
  const postmaster = await stage.postmaster();

  await stage.withDatabase(DATABASE, async (client) => {
    await seedEligibilities(client, scene, 2);
    await seedSuspendedPartner(client, scene.accountCode);
  });
  for (const name of PROGRAMS) await assertSameWork(servers[name].url, service.url, scene, token, name);
  for (const [index, name] of PROGRAMS.entries())
    await assertSameBooking(stage, servers[name].url, service.url, scene, token, index + 1);

  const measure = async (kind: Kind, name: ProgramName, duration: number, label: string): Promise<Measured> => {
    const candidates = kind === 'book' ? MOST_BOOKINGS * duration : CANDIDATES;
    await stage.withDatabase(DATABASE, async (client) => {
      await clearEligibilities(client);
      await clearNotifications(client);
      await seedEligibilities(client, scene, candidates);
    });
    await stage.settle(DATABASE);
    const { url, pid } = servers[name];
    const job: LoadJob = { url, kind, scene, token, candidates, label, keyed: name === KEYED, seconds: duration };
    const [result, used] = await withProcessorTime({ server: [pid], postgres: [postmaster] }, () =>
      loadUntilNotified(stage, DATABASE, load, job),
    );
    const each = (seconds: number) => (seconds / result.requests) * 1e6;
    return { ...result, server: each(used.server), postgres: each(used.postgres) };
  };

  const results = new Map<string, Measured[]>();
  // Round 0 warms up the programs and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const kind of Object.keys(KINDS) as Kind[])
      for (const name of rotated<ProgramName>(KINDS[kind], round)) {
        // The label differs between programs, so that calls of the previous program that are still running do not
        // disturb the measurement of the next program.
        const result = await measure(kind, name, round === 0 ? 1 : seconds, `r${round}${name.at(-1)!}`);
        if (round > 0) results.set(`${kind} ${name}`, [...(results.get(`${kind} ${name}`) ?? []), result]);
      }
  }
  for (const program of [service, ceiling, load]) await program.stop();
  return sectionOf(results, rounds, seconds);
}

/**
 * Checks that the comparison is fair: the service can read the records that the other program creates, and both
 * programs return the same members.
 */
async function assertSameWork(url: string, serviceUrl: string, scene: Scene, token: string, name: string) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `/accounts/${scene.accountCode}/candidates`;
  const created = await fetch(url + path, { method: 'POST', headers, body: createBody(scene, name) });
  const text = await created.text();
  if (!created.ok) throw new Error(`${name} does not create: ${created.status} ${text}`);
  for (const reader of [url, serviceUrl]) {
    const read = await fetch(`${reader}${path}/${name}/tests/${scene.testCode}`, { headers });
    if ((await read.text()) !== `[${text}]`) throw new Error(`${name} creates otherwise than ${reader} reads.`);
  }
}

/** Checks that the bookings of both programs create notifications with the same members. */
async function assertSameBooking(
  stage: Stage,
  url: string,
  serviceUrl: string,
  { accountCode, testCode }: Scene,
  token: string,
  number: number,
) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `/accounts/${accountCode}/candidates/seeded-${number}/tests/${testCode}/bookings`;
  const booked = await fetch(url + path, { method: 'POST', headers, body: BOOKING_BODY });
  const text = await booked.text();
  if (!booked.ok) throw new Error(`${url} does not book: ${booked.status} ${text}`);
  const { booking_code: code } = JSON.parse(text) as { booking_code: string };
  const read = await fetch(`${serviceUrl}/accounts/${accountCode}/bookings/${code}`, { headers });
  if ((await read.text()) !== text) throw new Error(`${url} books otherwise than ${serviceUrl} reads.`);
  await untilNotified(stage, DATABASE);
  const { rows } = await stage.withDatabase(DATABASE, (client) =>
    client.query<{ members: string; changes: number; deliveries: number; status: string }>(
      `SELECT string_agg(DISTINCT member.key, ' ') AS members, n.body::json ->> 'candidate_id' AS candidate,
         (SELECT count(*)::int FROM changes WHERE booking_code = n.booking_code) AS changes,
         (SELECT count(*)::int FROM deliveries d WHERE d.booking_code = n.booking_code) AS deliveries,
         (SELECT status FROM eligibilities e WHERE e.booking_code = n.booking_code) AS status
       FROM notifications n, json_each(n.body::json) member WHERE n.booking_code = $1 GROUP BY n.body, n.booking_code`,
      [code],
    ),
  );
  const members =
    'booking_code booking_on candidate_fname candidate_id candidate_lname candidate_mname change_reason delivery_mode ' +
    'effective_date exam_code exam_portions location_address location_code location_name location_timezone';
  const expected = { members, candidate: `seeded-${number}`, changes: 1, deliveries: 1, status: 'SCHEDULED' };
  if (rows.length !== 1 || JSON.stringify(rows[0]) !== JSON.stringify(expected))
    throw new Error(`${url} leaves other rows: ${JSON.stringify(rows)}`);
}

const QUESTIONS: Readonly<Record<Kind, string>> = {
  create: 'Create an eligibility',
  read: 'Read an eligibility by its key',
  book: 'Book, until the notification exists',
};
const NOTIFIED_WITHIN_MS = 10_000;

/** Measures bookings per second. The measured time ends when every booking has a due notification. */
async function loadUntilNotified(stage: Stage, database: string, load: Load, job: LoadJob): Promise<LoadResult> {
  const begun = performance.now();
  const loaded = await load.run(job);
  if (job.kind !== 'book') return loaded;
  await untilNotified(stage, database);
  return { ...loaded, perSecond: loaded.requests / ((performance.now() - begun) / 1000) };
}

/** Waits until every booking has a due notification. */
async function untilNotified(stage: Stage, database: string): Promise<void> {
  await stage.withDatabase(database, async (client) => {
    const giveUpAt = performance.now() + NOTIFIED_WITHIN_MS;
    for (;;) {
      const { rows } = await client.query<{ bookings: number; owed: number }>(
        `SELECT (SELECT count(*)::int FROM bookings) AS bookings, count(*)::int AS owed
         FROM notifications JOIN deliveries ON notification_position = position`,
      );
      const [{ bookings, owed }] = rows;
      // The load program does not wait for its last bookings, so some of them may still be running.
      if (bookings === owed) return;
      if (performance.now() > giveUpAt) throw new Error(`${owed} notifications of ${bookings} bookings.`);
      await sleep(5);
    }
  });
}

/** Rotates the list of compared programs, so that no program is always the first. */
function rotated<T>(list: readonly T[], by: number): T[] {
  return list.map((_, index) => list[(index + by) % list.length]);
}

function sectionOf(results: Map<string, Measured[]>, rounds: number, seconds: number): Section {
  const kinds = Object.keys(KINDS) as Kind[];
  const each = (kind: Kind, name: string, what: keyof Measured) =>
    results.get(`${kind} ${name}`)!.map((result) => result[what]);
  const of = (kind: Kind, name: string, what: keyof Measured) => median(each(kind, name, what));
  const ratio = (kind: Kind, name: string, what: 'perSecond' | 'p99') =>
    medianRatio(each(kind, name, what), each(kind, 'ceiling', what));
  return {
    title: 'Create, read by key and book',
    method:
      `autocannon with ${CONNECTIONS} keep-alive connections, ${rounds} alternating rounds of ${seconds} s, medians. ` +
      'The ceiling is a bare node:http server with one prepared statement a request: token check and the same rows, nothing else. ' +
      'A booking counts when it has become a notification for a partner, who is suspended. Processor time in µs a request.',
    table: [
      ['', 'requests/s', 'of the ceiling', 'p50 ms', 'p99 ms', 'p99 to the ceiling’s', 'server, µs', 'PostgreSQL, µs'],
      ...kinds.flatMap((kind) =>
        KINDS[kind].map((name) => [
          `${kind}, ${name}`,
          round(of(kind, name, 'perSecond')),
          round(ratio(kind, name, 'perSecond')),
          round(of(kind, name, 'p50')),
          round(of(kind, name, 'p99')),
          round(ratio(kind, name, 'p99')),
          round(of(kind, name, 'server')),
          round(of(kind, name, 'postgres')),
        ]),
      ),
    ],
    figures: kinds.flatMap((kind) => [
      {
        name: `${kind}: requests/s of the ceiling’s`,
        value: ratio(kind, 'service', 'perSecond'),
        unit: 'ratio' as const,
        goal: { atLeast: GOALS[kind] },
      },
      {
        name: `${kind}: p99 to the ceiling’s`,
        value: ratio(kind, 'service', 'p99'),
        unit: 'ratio' as const,
        goal: { atMost: 1.5 },
      },
      ofRounds(`${kind}: processor time of the service a request`, 'µs', each(kind, 'service', 'server')),
      ofRounds(`${kind}: processor time of PostgreSQL a request`, 'µs', each(kind, 'service', 'postgres')),
      ...(kind === 'read'
        ? []
        : [
            {
              name: `${kind}: requests/s with an Idempotency-Key of those without`,
              value: medianRatio(each(kind, KEYED, 'perSecond'), each(kind, 'service', 'perSecond')),
              unit: 'ratio' as const,
              goal: null,
            },
          ]),
    ]),
    asked: kinds.map((kind) => ({
      question: QUESTIONS[kind],
      measured: `${round(of(kind, 'service', 'perSecond'))} requests a second; p50 ${round(of(kind, 'service', 'p50'))} ms, p99 ${round(of(kind, 'service', 'p99'))} ms`,
      judged: {
        [`${kind}: requests/s of the ceiling’s`]: 'times the rate of a bare server',
        [`${kind}: p99 to the ceiling’s`]: 'times the p99 of a bare server',
      },
    })),
  };
}
