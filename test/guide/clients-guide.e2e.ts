import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { examPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import { dateTime } from '../support/given';

/** Tests each arrow of the state diagrams in docs/clients.md. */
const GUIDE = readFileSync(join(__dirname, '../../docs/clients.md'), 'utf8');

interface Arrow {
  from: string;
  to: string;
  label: string;
}

function arrowsOf(title: string): Arrow[] {
  const [, diagram] = new RegExp(`## ${title}\\n[^#]*?\`\`\`mermaid\\nstateDiagram-v2\\n(.*?)\`\`\``, 's').exec(GUIDE)!;
  return [...diagram.matchAll(/^ +(\S+) --> (\S+): (.+)$/gm)].map(([, from, to, label]) => ({ from, to, label }));
}

type Entity = Record<string, any>;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let operator: string;
let approval: string;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  operator = await app.given.operator();
  approval = await app.given.accommodation(scene.account, true);
});
afterAll(() => app.close());

const day = (days: number) => dateTime(Date.now() + days * 86_400_000);

async function succeeds(method: string, path: string, body?: object, token = scene.token): Promise<Entity> {
  const answer = await app.call(method, path, { token, body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body as Entity;
}

const create = () => app.given.eligibility(scene);
const createToApprove = () => app.given.eligibility(scene, { candidate: { special_accommodations: [approval] } });
const book = (record: Entity) => app.given.booking(scene, record);
const update = (record: Entity, eligibility_end_date: string) =>
  succeeds('PUT', examPath(scene, record), { ...record, eligibility_end_date });
const decide = (record: Entity, what: string, body?: object) =>
  succeeds('POST', `/admin/eligibilities/${record['svc_eligiblity_id']}/${what}`, body, operator);
/** Ends the window of a record in the database, because an update cannot move the window past a booking. */
const end = (record: Entity) =>
  app.given.sql(
    `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 hour' WHERE svc_eligiblity_id = $1`,
    [record['svc_eligiblity_id']],
  );
const bookingOf = async (record: Entity) => {
  const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/bookings`;
  const [{ booking_code }] = (await succeeds('GET', path)) as unknown as Entity[];
  return `/accounts/${scene.account}/bookings/${booking_code}`;
};
const move = async (record: Entity) =>
  succeeds('PUT', await bookingOf(record), { booking_on: day(9), delivery_mode: 'SVC_REMOTE_PROCTORED' });
const unbook = async (record: Entity) => succeeds('DELETE', await bookingOf(record));
const miss = (excused: boolean) => async (record: Entity) =>
  succeeds('POST', `${await bookingOf(record)}/absence`, { excused });
const deliver = (record: Entity) =>
  succeeds(
    'POST',
    '/registrations/registration/results',
    registrationBody({ examMetaData: { examCode: record['svc_eligiblity_id'] } }),
  );

/** For each state from which an arrow of the diagram starts, a function that creates a record in this state. */
const IN_STATE: Record<string, () => Promise<Entity>> = {
  '[*]': create,
  PENDING: createToApprove,
  ELIGIBLE: create,
  SCHEDULED: async () => done(await create(), book),
  ABSENT: async () => done(await create(), book, miss(false)),
  EXPIRED: async () => done(await create(), end),
};

async function done(record: Entity, ...ways: ((record: Entity) => Promise<unknown>)[]): Promise<Entity> {
  for (const way of ways) await way(record);
  return record;
}

type Way = (record: Entity) => Promise<unknown>;

/**
 * Maps the label of each arrow of a diagram to the requests that cause the transition. The test tries each request with
 * a new record.
 */
const WAYS: Record<string, Way[]> = {
  create: [() => Promise.resolve()],
  'approved, no hold left': [
    (record) => decide(record, 'approve-accommodations'),
    (record) =>
      done(
        record,
        () => decide(record, 'hold', { reason: 'papers' }),
        () => decide(record, 'approve-accommodations'),
        () => decide(record, 'release'),
      ),
  ],
  hold: [(record) => decide(record, 'hold', { reason: 'papers' })],
  booking: [book],
  'booking moved': [move],
  'booking cancelled, excused absence': [unbook, miss(true)],
  'the same, when the window is over': [
    (record) => done(record, end, unbook),
    (record) => done(record, end, miss(true)),
  ],
  absence: [miss(false)],
  'excused afterwards': [miss(true)],
  'the window ends': [end, (record) => update(record, day(-1))],
  'update moves the end into the future': [(record) => update(record, day(30))],
  cancel: [(record) => succeeds('DELETE', examPath(scene, record))],
  result: [deliver, (record) => new Deliveries(app).put(scene, accountBody(record['candidate'].candidate_id))],
};

const read = async (record: Entity) =>
  ((await succeeds('GET', examPath(scene, record))) as unknown as Entity[])[0]['status'] as string;

describe('the diagram of an eligibility', () => {
  const arrows = arrowsOf('An eligibility');
  /**
   * These two arrows have their own tests, because their requests need an eligibility record that was prepared
   * differently.
   */
  const own = [
    '[*] PENDING create, accommodations to approve',
    'EXPIRED PENDING the same, on hold or with accommodations to approve',
  ];
  const common = arrows.filter(({ from, to, label }) => !own.includes(`${from} ${to} ${label}`));

  it('the eligibility diagram contains no arrow twice', () => {
    expect(new Set(arrows.map((arrow) => JSON.stringify(arrow))).size).toBe(arrows.length);
    expect(arrows.length - common.length).toBe(own.length);
  });

  it.each(common)(
    'an eligibility changes from $from to $to as the diagram shows: $label',
    async ({ from, to, label }) => {
      expect(Object.keys(WAYS)).toContain(label);
      for (const way of WAYS[label]) {
        const record = await IN_STATE[from]();
        if (from !== '[*]') expect(await read(record)).toBe(from);
        await way(record);
        expect(await read(record)).toBe(to);
      }
    },
  );

  it('an eligibility with accommodations to approve begins as PENDING, and is PENDING again when its window is reopened', async () => {
    const record = await createToApprove();
    expect(record['status']).toBe('PENDING');
    await end(record);
    expect(await read(record)).toBe('EXPIRED');
    await update(record, day(30));
    expect(await read(record)).toBe('PENDING');
  });

  it('the eligibility diagram shows every cancellation, booking and hold that changes the state of an eligibility', async () => {
    for (const state of Object.keys(IN_STATE).slice(1))
      for (const [method, path] of [
        ['DELETE', (record: Entity) => examPath(scene, record)],
        ['POST', (record: Entity) => `${examPath(scene, record)}/bookings`],
        ['POST', (record: Entity) => `/admin/eligibilities/${record['svc_eligiblity_id']}/hold`],
      ] as const) {
        const record = await IN_STATE[state]();
        const what = method === 'DELETE' ? 'cancel' : path(record).endsWith('hold') ? 'hold' : 'booking';
        if (
          arrows.some(({ from, label }) => from === state && label === what) ||
          (['PENDING', 'SCHEDULED'].includes(state) && what === 'hold')
        )
          continue;
        const body =
          what === 'hold' ? { reason: 'papers' } : { booking_on: day(7), delivery_mode: 'SVC_REMOTE_PROCTORED' };
        const answer = await app.call(method, path(record), {
          token: operator,
          ...(method === 'POST' ? { body } : {}),
        });
        expect([state, what, answer.status]).toEqual([state, what, 403]);
        expect(await read(record)).toBe(state);
      }
  });
});

describe('the diagram of a booking', () => {
  const arrows = arrowsOf('A booking');
  const states: Record<string, () => Promise<Entity>> = {
    '[*]': create,
    BOOKED: IN_STATE['SCHEDULED'],
    ABSENT: IN_STATE['ABSENT'],
  };
  const ways: Record<string, Way> = {
    booked: book,
    moved: move,
    cancelled: unbook,
    'excused absence': miss(true),
    'excused afterwards': miss(true),
    absence: miss(false),
    result: deliver,
    'result of an exam without a booking': deliver,
  };

  it.each(arrows)('a booking changes from $from to $to as the diagram shows: $label', async ({ from, to, label }) => {
    const record = await states[from]();
    await ways[label](record);
    expect((await succeeds('GET', await bookingOf(record)))['status']).toBe(to);
  });
});
