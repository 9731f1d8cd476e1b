import { EventEmitter } from 'node:events';
import type { HttpAdapterHost } from '@nestjs/core';
import { OtherCalls } from './other-calls.js';

const server = new EventEmitter();
const host = { httpAdapter: { getHttpServer: () => server } } as unknown as HttpAdapterHost;
let calls: OtherCalls;

beforeEach(() => {
  calls = new OtherCalls(/^[^?]*\/jobs/);
  calls.watch(host);
});
afterEach(() => server.removeAllListeners());

const restOf = async (...args: Parameters<OtherCalls['leaveTime']>) => {
  const from = performance.now();
  await calls.leaveTime(...args);
  return performance.now() - from;
};

test.each([
  ['/accounts/A/candidates', true],
  ['/accounts/A/candidates?of=/jobs', true],
  ['/admin/jobs/1', false],
])('a request to %s makes background work pause: %s', (url, there) => {
  expect(calls.areThere).toBe(false);
  server.emit('request', { url });
  expect(calls.areThere).toBe(there);
});

test('background work pauses for three times its duration while other requests are being served, up to a maximum pause', async () => {
  server.emit('request', { url: '/' });
  expect(await restOf(20)).toBeGreaterThan(58);
  const rest = await restOf(60_000, 20);
  expect(rest).toBeGreaterThan(18);
  expect(rest).toBeLessThan(60_000);
});

test('background work does not pause when there are no other requests, or in a process without an HTTP server', async () => {
  expect(await restOf(60_000)).toBeLessThan(60_000);
  calls.watch({} as HttpAdapterHost);
  expect(calls.areThere).toBe(false);
});
