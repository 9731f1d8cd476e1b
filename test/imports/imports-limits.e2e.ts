import { request, type IncomingMessage } from 'node:http';
import { startApp, type TestApp } from '../support/app';

/**
 * Tests section 12 of the contract: an import has at most 1,000,000 rows and 512 MiB. The test generates the bodies
 * while it sends them, and does not declare their length.
 */
const MOST_ROWS = 1_000_000;
const MOST_BYTES = 512 * 1024 * 1024;
const PIECE = 64 * 1024;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

async function send(pieces: Iterable<string>): Promise<{ status: number; body: Record<string, any> }> {
  const sender = request(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.token}`, 'content-type': 'application/x-ndjson' },
  });
  // The service refuses a body before it has read all of it, so sending the rest of the body can fail.
  sender.on('error', () => undefined);
  const progress = { isAnswered: false };
  const answered = new Promise<IncomingMessage>((resolve) => sender.once('response', resolve));
  void answered.then(() => (progress.isAnswered = true));
  for (const piece of pieces) {
    if (progress.isAnswered) break;
    if (!sender.write(piece)) await Promise.race([new Promise((resolve) => sender.once('drain', resolve)), answered]);
  }
  sender.end();
  const response = await answered;
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  sender.destroy();
  return { status: response.statusCode!, body: JSON.parse(Buffer.concat(parts).toString()) as Record<string, any> };
}

/** Yields the given number of bytes as blank lines, which contain no row. */
function* blank(bytes: number): Iterable<string> {
  const piece = ' '.repeat(PIECE - 1) + '\n';
  for (let left = bytes; left > 0; left -= PIECE) yield piece.slice(-Math.min(left, PIECE));
}

function* rows(count: number): Iterable<string> {
  const most = 10_000;
  for (let left = count; left > 0; left -= most) yield '0\n'.repeat(Math.min(left, most));
}

const kept = () => app.given.sql('SELECT state, rows FROM eligibility_imports');

it('an import accepts a file of 512 MiB, and refuses a larger file with 413 without storing any of its rows', async () => {
  expect((await send(blank(MOST_BYTES))).status).toBe(202);
  expect(await kept()).toEqual([{ state: 'DONE', rows: 0 }]);
  const answer = await send(blank(MOST_BYTES + 1));
  expect([answer.status, answer.body['code']]).toEqual([413, 'payload_too_large']);
  expect(answer.body['detail']).toContain('512 MiB');
  expect(await kept()).toHaveLength(1);
}, 120_000);

it('an import returns 413 for a file with 1,000,001 rows, and stores none of the rows', async () => {
  const before = await kept();
  const answer = await send(rows(MOST_ROWS + 1));
  expect([answer.status, answer.body['code']]).toEqual([413, 'payload_too_large']);
  expect(answer.body['detail']).toContain('1000000 rows');
  expect(await kept()).toEqual(before);
  expect(await app.given.sql('SELECT FROM eligibility_import_chunks LIMIT 1')).toEqual([]);
}, 300_000);
