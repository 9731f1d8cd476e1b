import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import express from 'express';
import fastify from 'fastify';
import { fastifyPlugin, isGenuine, MemoryStore, nodeHandler, receiver } from './receiver.mjs';
import { notification, request, situations } from './situations.mjs';
import { play, report } from './conformance.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const read = (name) => readFileSync(join(here, name), 'utf8');
const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64');
const closing = [];
after(() => closing.forEach((close) => close()));

/** Listens with a handler of node:http; the answer is its address. */
async function serve(handler) {
  const server = createServer(handler);
  closing.push(() => server.close() && server.closeAllConnections());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

const wrongOf = (results) => results.flatMap(({ name, isRight }) => (isRight ? [] : [name]));
const received = (handled = []) =>
  receiver({
    secrets: secret,
    store: new MemoryStore(),
    handle: async (content, about) => void handled.push({ ...about, reason: content.change_reason }),
  });
const WRONG_SIGNATURES = situations(() => 0, secret).flatMap(({ name, expects }) => (expects === 401 ? [name] : []));

describe('the vectors', () => {
  for (const { name, secrets, now, headers, body, genuine } of JSON.parse(read('vectors.json')))
    test(`${name}: ${genuine ? 'genuine' : 'refused'}`, () =>
      assert.equal(isGenuine(headers, Buffer.from(body), secrets, now), genuine));
});

describe('a receiver', () => {
  test('hands on each notification once, however often and at once it comes', async () => {
    const handled = [];
    const receive = received(handled);
    const { headers, body } = request(notification(), secret);
    const answers = await Promise.all([1, 2, 3, 4].map(() => receive(headers, Buffer.from(body))));
    answers.push(await receive(headers, Buffer.from(body)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200],
    );
    assert.equal(handled.length, 1);
  });

  test('says what comes late', async () => {
    const handled = [];
    const receive = received(handled);
    for (const effective_date of ['2027-01-31T08:00:02Z', '2027-01-31T08:00:01Z', '2027-01-31T08:00:03Z']) {
      const { headers, body } = request(notification({ booking_code: 'B', effective_date }), secret);
      await receive(headers, Buffer.from(body));
    }
    assert.deepEqual(
      handled.map(({ isLate }) => isLate),
      [false, true, false],
    );
  });

  test('answers 500 while it cannot work, and takes it when it comes again', async () => {
    let isDown = true;
    const receive = receiver({
      secrets: secret,
      store: new MemoryStore(),
      handle: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve()),
    });
    const { headers, body } = request(notification(), secret);
    assert.equal((await receive(headers, Buffer.from(body))).status, 500);
    isDown = false;
    assert.equal((await receive(headers, Buffer.from(body))).status, 200);
  });

  test('answers 400 to what is signed and no JSON', async () => {
    const { headers } = request(notification(), secret);
    const { sign } = await import('./receiver.mjs');
    const signature = sign(headers['webhook-id'], headers['webhook-timestamp'], 'no JSON', secret);
    const answer = await received()({ ...headers, 'webhook-signature': signature }, Buffer.from('no JSON'));
    assert.equal(answer.status, 400);
  });

  test('can be required', () => {
    assert.equal(typeof createRequire(import.meta.url)('@candidate-eligibility/partner').receiver, 'function');
  });
});

describe('25 situations', { concurrency: true }, () => {
  test('are all right with node:http', async () => {
    const results = await play({ url: await serve(nodeHandler(received())), secret });
    assert.equal(results.length, 25);
    assert.deepEqual(wrongOf(results), []);
  });

  test('are all right with Express beside express.json()', async () => {
    const app = express();
    app.put('/notifications', nodeHandler(received()));
    app.use(express.json());
    assert.deepEqual(wrongOf(await play({ url: await serve(app), secret })), []);
  });

  test('are all right with Fastify, whose other routes still get JSON', async () => {
    const app = fastify();
    app.register(fastifyPlugin(received()));
    app.post('/other', async ({ body }) => ({ got: body.a }));
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    closing.push(() => void app.close());
    assert.deepEqual(wrongOf(await play({ url, secret })), []);
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/other`, { method: 'POST', headers, body: '{"a":1}' });
    assert.deepEqual(await answer.json(), { got: 1 });
  });

  test('find an endpoint that takes everything', async () => {
    const url = await serve((incoming, response) => incoming.resume().on('end', () => response.end()));
    assert.deepEqual(wrongOf(await play({ url, secret })), WRONG_SIGNATURES);
  });

  test('find an endpoint that answers 204, refuses repeats, or knows the first signature only', async () => {
    const receive = received();
    const seen = new Set();
    const answerBy = (change) => async (incoming, response) => {
      const chunks = [];
      for await (const chunk of incoming) chunks.push(chunk);
      response.statusCode = await change(incoming.headers, Buffer.concat(chunks));
      response.end();
    };
    const status = async (headers, body) => (await receive(headers, body)).status;
    const with204 = await serve(answerBy(async (...sent) => ((await status(...sent)) === 200 ? 204 : 401)));
    const found = wrongOf(await play({ url: with204, secret }));
    assert.equal(found.length, 25 - WRONG_SIGNATURES.length);
    const refusing = await serve(
      answerBy(async (headers, body) => {
        if ((await status(headers, body)) !== 200) return 401;
        return seen.has(headers['webhook-id']) ? 409 : (seen.add(headers['webhook-id']), 200);
      }),
    );
    assert.ok(wrongOf(await play({ url: refusing, secret })).every((name) => /repeat|one id/.test(name)));
    const first = await serve(
      answerBy((headers, body) =>
        status({ ...headers, 'webhook-signature': headers['webhook-signature']?.split(' ')[0] }, body),
      ),
    );
    const results = await play({ url: first, secret });
    assert.deepEqual(wrongOf(results), ['two signatures after a change of the secret']);
    assert.match(
      report(results),
      /WRONG 21 {2}.*401, not 200\n +Accept the notification when one of them is right\.\n/,
    );
    assert.match(report(results), /24 right, 1 wrong\n$/);
  });

  test('say what the document says, word for word', () => {
    const plain = (text) => text.replaceAll(/[\s|]+/g, ' ');
    const document = plain(read('../../docs/notifications.md'));
    for (const { name, says } of situations(() => 0, secret))
      assert.ok(document.includes(plain(says)), `${name}: ${says}`);
  });

  test('end with 2 on wrong usage', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(here, 'conformance.mjs')], { encoding: 'utf8' });
    assert.deepEqual([status, stderr.startsWith('usage:')], [2, true]);
  });
});

test('the receiver of README.md, typed as it stands, is right in all of them', async () => {
  const [, code] = /```js\n([^]*?)```/.exec(read('README.md'));
  const file = join(here, `.readme-${process.pid}.mjs`);
  writeFileSync(file, code);
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const url = `http://127.0.0.1:${port}`;
    for (let tries = 100; tries > 0; tries--) {
      if (await fetch(url).catch(() => null)) break;
      await pause(50);
    }
    const program = spawnSync(process.execPath, [join(here, 'conformance.mjs'), '--url', url, '--secret', secret], {
      encoding: 'utf8',
    });
    assert.match(program.stdout, /25 right, 0 wrong\n$/);
    assert.equal(program.status, 0);
  } finally {
    child.kill();
    rmSync(file);
  }
});
