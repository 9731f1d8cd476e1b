import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { BodyPace } from '../../src/platform/overload/body-pace';
import { startApp, type TestApp } from '../support/app';
import { registrationBody } from '../support/deliveries';
import { basic, OAuth } from '../support/oauth';
import { rawCall } from '../support/raw-http';

/**
 * Tests that no body, even one that was made to cause much work, blocks the event loop for long. All other requests
 * wait while the event loop is blocked.
 */
let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  // Disables the pauses that the service makes between large bodies from one caller, because this test sends all bodies
  // as one caller.
  jest.spyOn(app.app.get(BodyPace), 'charge').mockReturnValue(undefined);
});
afterAll(() => app.close());

const KIB = 1024;
const MIB = 1024 * KIB;
/** The size, in bytes, of the fixed part of a generated body. */
const REST = 1000;
const members = (count: number, value: (at: number) => string) =>
  `{${Array.from({ length: count }, (_, at) => `"m${at}":${value(at)}`).join()}}`;
const filled = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length));

/** Generates JSON objects of at most the given number of bytes that have very many members. */
const wide = (bytes: number): [string, string][] => {
  const values = Math.min(99_000, Math.floor(bytes / 14));
  return [
    ['wide', members(values, String)],
    ['wide, of objects', members(Math.floor(values / 2), () => '{"a":1}')],
    ['of 870,000 members', members(870_000, () => '0').slice(0, bytes)],
  ];
};

/** Generates bodies of about the given size that cause as much work as possible. */
const hostile = (bytes: number): [string, string][] => {
  const values = Math.min(99_000, Math.floor(bytes / 14));
  return [
    ['deep', `{"a":${filled('[', bytes / 2)}${filled(']', bytes / 2)}}`],
    ['as deep as allowed, again and again', `{"a":[${filled(`${'['.repeat(60)}${']'.repeat(60)},`, bytes)}1]}`],
    ['a list of numbers', `{"a":[${filled('1,', bytes)}1]}`],
    ['one long text', `{"a":"${filled('x', bytes)}"}`],
    ['one long text of a known member', `{"overAllComments":"${filled('é', bytes / 2)}"}`],
    ['escapes', `{"a":"${filled('\\u00e4', bytes)}"}`],
    ['backslashes', `{"a":"${filled('\\\\', bytes)}"}`],
    ['texts of escaped quotes', `{"a":[${filled(`"${'\\"'.repeat(40)}",`, bytes)}1]}`],
    ['big numbers', `{"a":[${filled(`${'9'.repeat(90)},`, bytes)}1]}`],
    ['one number', `{"a":${filled('9', bytes)}}`],
    ['one name again and again', `{${filled('"a":{"b":1},', bytes)}"a":1}`],
    ['blanks', `{"a":1${filled(' \n', bytes)}}`],
    ['lone surrogates', `{"a":[${filled('"\\ud800",', bytes)}1]}`],
    ['a photo of faults', `{"userPhotoBase64String":"${filled('*', bytes)}"}`],
    ['unknown members near to known ones', members(values, () => '1').replaceAll('"m', '"test_cod')],
    ['no JSON at its end', `{"a":[${filled('1,', bytes / 2)}1`],
  ];
};

/** Returns the longest time for which the event loop was blocked during the work, in milliseconds. */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  // Waits until the garbage of earlier work has been collected.
  await pause(50);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  await pause(20);
  delay.disable();
  return delay.max / 1e6;
}

const OWN_WORK = members(99_000, (at) => `"${at}${'x'.repeat(60)}"`);

/**
 * Returns the time, in milliseconds, that this machine currently needs to parse a certain JSON text. Delays are
 * compared with this time.
 */
function ownTime(): number {
  const times = Array.from({ length: 5 }, () => {
    const begun = performance.now();
    JSON.stringify(JSON.parse(OWN_WORK));
    return performance.now() - begun;
  });
  return Math.min(...times);
}

/**
 * Returns the longest delay that each body causes, as a multiple of the reference time ({@link ownTime}). The reference
 * time is measured right after each delay, because other load on the machine lengthens both.
 */
async function delayRatios(path: string, bodies: [string, string][]): Promise<Record<string, number>> {
  const headers = { authorization: `Bearer ${scene.token}`, 'content-type': 'application/json' };
  const send = async (body: Buffer) => {
    const { status } = await rawCall(app.url, 'POST', path, { headers, chunks: [body] });
    expect([400, 413]).toContain(status);
  };
  const ratios: Record<string, number> = {};
  for (const [name, text] of bodies) {
    const body = Buffer.from(text);
    const several: number[] = [];
    // If the delay is too long, the measurement is repeated, because the first bodies start threads and compile code,
    // and other load on the machine adds delays.
    for (let round = 0; round < 4 && !(Math.min(...several) < 1); round++)
      several.push((await longestDelay(() => send(body))) / ownTime());
    ratios[name] = Math.min(...several);
  }
  return ratios;
}

it.each([
  [
    'a result of 8 MiB',
    () => '/registrations/registration/results',
    [...hostile(8 * MIB - REST), ...wide(8 * MIB - REST)],
  ],
  [
    'any other body of 256 KiB',
    () => `/accounts/${scene.account}/candidates`,
    [...hostile(256 * KIB - REST), ...wide(256 * KIB - REST)],
  ],
])(
  'reading %s blocks the event loop for less time than parsing and writing JSON with 99,000 values',
  async (_kind, path, bodies) => {
    // The generated bodies are designed to cause as much work as possible.
    expect(Math.max(...Object.values(await delayRatios(path(), bodies)))).toBeLessThan(1);
  },
  240_000,
);

it('does not block the event loop when a content type contains thousands of spaces', async () => {
  const headers = {
    authorization: basic(await new OAuth(app).login()),
    'content-type': `application/x-www-form-urlencoded${' '.repeat(15_000)}x`,
  };
  const send = async () => {
    const { text } = await rawCall(app.url, 'POST', '/token', { headers, chunks: ['grant_type=password'] });
    expect(JSON.parse(text)).toMatchObject({ error: 'invalid_request' });
  };
  await send();
  expect((await longestDelay(send)) / ownTime()).toBeLessThan(1);
});

it('a large result, which is parsed in a worker thread, is validated by the same rules as a small result', async () => {
  const { svc_eligiblity_id } = await app.given.eligibility(scene);
  const body = registrationBody({ examMetaData: { examCode: svc_eligiblity_id }, more: 'x'.repeat(3 * MIB) });
  const path = '/registrations/registration/results';
  expect((await app.call('POST', path, { token: scene.token, body })).status).toBe(200);
  const wrong = { ...body, examTakerEmail: {} };
  expect((await app.call('POST', path, { token: scene.token, body: wrong })).body.errors).toEqual([
    { pointer: '/examTakerEmail', code: 'type_invalid', detail: expect.any(String) },
  ]);
});
