/**
 * Runs the hostile tenant of hostile-neighbour.ts in a separate process. The hostile tenant therefore does not share an
 * event loop with the measured calls of the other tenant.
 *
 * The process replies to `{ attack: <name> }` when the attack has begun, and to `{ end: true }` when the attack has
 * ended. The second reply contains the number of times that the attack was repeated.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Pool } from 'undici';
import { TEST_CODE } from './prepare.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** The network address from which the hostile tenant calls. The other tenant has a different address. */
const HOSTILE_ADDRESS = '127.0.0.2';
const RESULTS = '/registrations/registration/results';

const { origin, account, token, tokenRequest } = programOptions<{
  origin: string;
  account: string;
  token: string;
  /** The token request that the `token requests` attack sends repeatedly. */
  tokenRequest?: { headers: Record<string, string>; body: string };
}>();
const pool = new Pool(origin, { connections: 64, localAddress: HOSTILE_ADDRESS });

let rounds = 0;
let ended = false;
let end: () => void = () => undefined;
let over = Promise.resolve();

async function call(method: 'GET' | 'POST', path: string, body?: Buffer, withToken = true): Promise<void> {
  const { body: answer } = await pool.request({
    method,
    path,
    body,
    headers: {
      ...(withToken ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
  });
  await answer.dump({ limit: 64 * MIB });
}

/** Repeats the work in `count` parallel loops until the attack ends. */
function again(count: number, work: () => Promise<unknown>): Promise<unknown> {
  const worker = async (): Promise<void> => {
    for (; !ended; rounds++) {
      // Errors are ignored, because the service is expected to refuse requests of an attack.
      await work().catch(() => undefined);
    }
  };
  return Promise.all(Array.from({ length: count }, worker));
}

function dial(head: string[]): Socket {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), localAddress: HOSTILE_ADDRESS });
  socket.on('error', () => undefined);
  socket.write([...head, `Host: ${hostname}`, `Authorization: Bearer ${token}`, '', ''].join('\r\n'));
  return socket;
}

const JSON_OF = (bytes: number) => ['Content-Type: application/json', `Content-Length: ${bytes}`];

/** Keeps the given number of connections open. When the service closes a connection, a new connection is opened. */
function kept(count: number, make: () => Socket): Promise<unknown> {
  return again(count, async () => {
    const socket = make();
    await Promise.race([once(socket, 'close'), over]);
    socket.destroy();
  });
}

const members = (count: number, member: (at: number) => string) =>
  `{${Array.from({ length: count }, (_, at) => member(at)).join()}}`;

const ATTACKS: Record<string, () => () => Promise<unknown>> = {
  drip: () => () =>
    kept(3, () => {
      const socket = dial([`POST ${RESULTS} HTTP/1.1`, ...JSON_OF(8 * MIB - 1)]);
      socket.write(`{"a":"${'x'.repeat(64 * KIB)}`);
      const drip = setInterval(() => socket.write('x'.repeat(2 * KIB)), 100);
      socket.once('close', () => clearInterval(drip));
      return socket;
    }),
  'values without end': () => {
    const body = Buffer.from(members(870_000, (at) => `"m${at % 10}":0`)).subarray(0, 8 * MIB - 1);
    return () => again(1, () => call('POST', RESULTS, body));
  },
  'as many values as allowed': () => {
    const body = Buffer.from(members(99_000, (at) => `"m${at}":"${'x'.repeat(60)}"`));
    return () => again(1, () => call('POST', RESULTS, body));
  },
  'unknown members': () => {
    const body = Buffer.from(members(15_000, (at) => `"test_cod${at}":1`));
    return () => again(1, () => call('POST', `/accounts/${account}/candidates`, body));
  },
  documents: () => () => again(2, () => call('GET', '/openapi.yaml', undefined, false)),
  'announced gigabytes': () => () =>
    kept(4, () => {
      const socket = dial([`POST /accounts/${account}/candidates HTTP/1.1`, ...JSON_OF(1e9)]);
      socket.write('x'.repeat(MIB));
      return socket;
    }),
  lists: () => () => again(20, () => call('GET', `/accounts/${account}/eligibilities?limit=200`)),
  exports: () => () => again(4, () => call('GET', `/accounts/${account}/eligibilities.csv`)),
  // The number of clients exceeds the number of passwords that the service can hash at the same time, so that requests
  // always wait for the hashing.
  'token requests': () => () =>
    again(16, async () => {
      const { body } = await pool.request({ method: 'POST', path: '/token', ...tokenRequest! });
      await body.dump();
    }),
  feed: () => () => again(20, () => call('GET', `/accounts/${account}/changes?limit=200`)),
  'readers that do not read': () => () =>
    kept(40, () => {
      const socket = dial([`GET /accounts/${account}/candidates/exam/tests/${TEST_CODE}/results HTTP/1.1`]);
      socket.pause();
      return socket;
    }),
};

let attack: Promise<unknown> = Promise.resolve();

process.on('message', (message: { attack: string } | { end: true }) => {
  if ('end' in message) {
    ended = true;
    end();
    void attack.then(() => tell({ rounds }));
    return;
  }
  const begin = ATTACKS[message.attack]();
  [rounds, ended] = [0, false];
  over = new Promise((resolve) => (end = resolve));
  attack = begin();
  tell({ begun: true });
});
endWithOrchestrator();
tell({ ready: true });
