import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { Deliveries, registrationBody, type Scene } from '../support/deliveries';
import { eventually } from '../support/eventually';

/**
 * Tests that a client that stops reading a response occupies only slots of its own application. The client uses up
 * neither the memory nor the connections that other clients need.
 */
let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/**
 * Creates an exam with the given number of revisions of a 5 MiB result. Returns the path at which the revisions can be
 * read.
 */
async function examWithResult(scene: Scene, revisions = 1): Promise<string> {
  const { svc_eligiblity_id, candidate } = await app.given.eligibility(scene);
  const userPhotoBase64String = Buffer.alloc(4 * 1024 * 1024, 7).toString('base64');
  for (let revision = 1; revision <= revisions; revision++) {
    const examMetaData = { examCode: svc_eligiblity_id };
    const body = registrationBody({ examMetaData, userPhotoBase64String, reviewStatus: `${revision}` });
    expect((await new Deliveries(app).register(scene.token, body)).status).toBe(200);
  }
  return `/accounts/${scene.account}/candidates/${candidate.candidate_id}/tests/${scene.testCode}/results`;
}

async function silentReader(path: string, token: string): Promise<Socket> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

it('serves other tenants, and holds no database connection, while 110 clients do not read their responses', async () => {
  const [hostile, other] = [await app.given.scene(), await app.given.scene()];
  const [big, mine] = [await examWithResult(hostile), await examWithResult(other)];
  const readers = await Promise.all(Array.from({ length: 110 }, () => silentReader(big, hostile.token)));
  await pause(500);
  const answers = await Promise.all(Array.from({ length: 4 }, () => app.call('GET', mine, { token: other.token })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(answers[0].text.length).toBeGreaterThan(5 * 1024 * 1024);
  // The stalled readers have used up all slots of their application for large responses.
  const refused = await app.call('GET', big, { token: hostile.token });
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'service_unavailable',
    '5',
  ]);
  // A request must not read the result while it waits for a slot, because the service may never send the response. The
  // service answers six requests at a time. It can answer six more if the sockets can buffer a whole response.
  const read = `SELECT count(*)::int AS rows FROM audit_log WHERE action = 'result.read-photo' AND account_code = $1`;
  const [{ rows }] = await app.given.sql(read, [hostile.account]);
  expect(rows).toBeGreaterThanOrEqual(6);
  expect(rows).toBeLessThan(110 / 2);
  for (const socket of readers) socket.destroy();
  await pause(200);
  expect((await app.call('GET', big, { token: hostile.token })).status).toBe(200);
});

it('closes the connection of a client that does not read its response, within twice the idle timeout', async () => {
  const server = app.app.getHttpServer();
  expect(server.timeout).toBe(30_000);
  server.setTimeout(2_000);
  const scene = await app.given.scene();
  const path = await examWithResult(scene, 6);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = await silentReader(path, scene.token);
  const [peer] = await accepted;
  await eventually(() => peer.destroyed, 30_000);
  // The client can still read the bytes that the service sent before it closed the connection, but not the end of the
  // response.
  let bytes = 0;
  socket.on('data', (part: Buffer) => (bytes += part.length));
  socket.resume();
  await once(socket, 'close');
  expect(bytes).toBeLessThan(30 * 1024 * 1024);
});
