import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { LABORIOUS_BYTES } from '../../src/platform/http/body';
import { WorkerProcess } from '../../src/platform/worker-process';
import { ResultReader } from '../../src/results/body/result-reader';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody, type Scene } from '../support/deliveries';

/**
 * Tests that senders who send large bodies slowly, or who disconnect, do not block other senders. Large bodies share a
 * limited amount of memory.
 */
let app: TestApp;
let deliveries: Deliveries;
let scene: Scene;
const PHOTO = Buffer.alloc(5 * 1024 * 1024, 7).toString('base64');

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
  scene = await app.given.scene();
});
afterAll(() => app.close());

/** Announces a body of 7 MiB, sends only the given number of bytes of it, and then stops sending. */
async function slowSender(sent = 100_000): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(
    'POST /registrations/registration/results HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${scene.token}\r\nContent-Length: ${7 * 1024 * 1024}\r\n\r\n{"examDate":"${'x'.repeat(sent)}`,
  );
  return socket;
}

async function deliver(by = scene): Promise<number> {
  const { svc_eligiblity_id } = await app.given.eligibility(by);
  const body = registrationBody({ examMetaData: { examCode: svc_eligiblity_id }, userPhotoBase64String: PHOTO });
  return (await deliveries.register(by.token, body)).status;
}

it('serves other requests while two clients send large results slowly', async () => {
  const slow = [await slowSender(), await slowSender()];
  await pause(100);
  expect(await deliver()).toBe(200);
  for (const socket of slow) socket.destroy();
});

it('while twelve clients send large results slowly, the service serves their tenant and other tenants', async () => {
  const slow = await Promise.all(Array.from({ length: 12 }, () => slowSender()));
  await pause(100);
  expect(await deliver()).toBe(200);
  expect(await deliver(await app.given.scene())).toBe(200);
  for (const socket of slow) socket.destroy();
});

it('clients that stop sending just before the end of a large result delay only their own tenant', async () => {
  const slow = await Promise.all(Array.from({ length: 12 }, () => slowSender(6 * 1024 * 1024)));
  await pause(500);
  const other = await app.given.scene();
  expect(await Promise.all(Array.from({ length: 4 }, () => deliver(other)))).toEqual([200, 200, 200, 200]);
  for (const socket of slow) socket.destroy();
});

it('small results do not wait for large results', async () => {
  const slow = await Promise.all(Array.from({ length: 6 }, () => slowSender()));
  await pause(100);
  expect((await deliveries.register(scene.token, registrationBody())).status).toBe(400);
  for (const socket of slow) socket.destroy();
});

it('releases the memory reserved for clients that disconnect while sending or waiting', async () => {
  const gone = await Promise.all(Array.from({ length: 8 }, () => slowSender()));
  await pause(100);
  for (const socket of gone.reverse()) socket.destroy();
  const answers = await Promise.all(Array.from({ length: 5 }, () => deliver()));
  expect(answers).toEqual([200, 200, 200, 200, 200]);
});

describe('the main thread never parses a large result', () => {
  /** Delivers a result of 1 MiB. Returns the status, and the length of the longest text that the main thread parsed. */
  async function parsed(changes: object): Promise<[status: number, longest: number]> {
    const parse = jest.spyOn(JSON, 'parse');
    const body = registrationBody({ notes: 'x'.repeat(1024 * 1024), ...changes });
    const { status } = await deliveries.register(scene.token, body);
    const longest = Math.max(...parse.mock.calls.map(([text]) => String(text).length));
    parse.mockRestore();
    return [status, longest];
  }

  it.each([
    ['is accepted', 200, (examCode: string) => ({ examMetaData: { examCode } })],
    ['matches no exam', 400, () => ({ examMetaData: { examCode: 'unknown', extRecordLocator: 'unknown' } })],
    ['contains a fault', 400, () => ({ examMetaData: 'unknown' })],
  ])('when the result %s', async (_outcome, expected, changes) => {
    const { svc_eligiblity_id } = await app.given.eligibility(scene);
    const [status, longest] = await parsed(changes(svc_eligiblity_id));
    expect(status).toBe(expected);
    expect(longest).toBeLessThan(LABORIOUS_BYTES);
  });
});

it('does not charge the sender of a large result for processor time that other programs use', async () => {
  const worker = new WorkerProcess<object, { workMs: number }>(
    join(__dirname, '../../src/results/body/result-reader-process.cjs'),
    ResultReader.execArgv,
  );
  const bytes = Buffer.from(JSON.stringify(registrationBody({ userPhotoBase64String: PHOTO })));
  const charged = async () => {
    const times: number[] = [];
    for (let n = 0; n < 5; n++) times.push((await worker.run({ source: 'REGISTRATION', bytes })).workMs);
    return times.sort((a, b) => a - b)[2];
  };
  await charged();
  const alone = await charged();
  const others = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  await pause(500);
  const beside = await charged();
  for (const other of others) other.kill('SIGKILL');
  await worker.end();
  expect(beside).toBeLessThan(3 * alone);
});
