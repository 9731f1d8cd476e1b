/**
 * Tests two cells (separate services, each with its own database) behind one address. HAProxy with
 * deploy/haproxy/cells.cfg chooses the cell of a request by the first letter of a token, key or code in the request.
 *
 * 1. The main flow and both routes for results work through the proxy in each cell.
 * 2. When a caller of one cell asks for an account of the other cell, the response is the same as for any account to
 *    which the caller has no access.
 * 3. If a request does not contain the letter of a cell, HAProxy chooses the cell by the host name in the request.
 * 4. When one cell stops, its callers get 503, and callers of the other cell are not affected.
 *
 * usage: npm run cells   (the exit code is 1 when any of these fails). Needs HAProxy, which is installed automatically
 * for root on Debian 12.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { runCommand } from '../../bench/command.js';
import { installPrograms } from './debian.js';
import { freePort, haproxy } from './deployed.js';
import { createBody } from '../../bench/scene.js';
import { BenchedService } from '../../bench/service.js';
import { Stage } from '../../bench/stage.js';

type Letter = 'A' | 'B';

interface Asked {
  readonly token?: string;
  readonly body?: object | string;
  readonly headers?: Record<string, string>;
}

/** Sends requests through the proxy. Compares the cell that must answer each request with the cell in HAProxy's log. */
class Front {
  readonly wrong: string[] = [];
  calls = 0;

  constructor(
    private readonly url: string,
    private readonly log: () => string,
  ) {}

  /**
   * Sends a request through the proxy, and checks the cell and the status of the response.
   * @param cell the cell that must answer
   * @param status the expected status
   */
  async call(cell: Letter, status: number, method: string, path: string, asked: Asked = {}): Promise<any> {
    const { token, body, headers = {} } = asked;
    this.calls += 1;
    const answer = await request(this.url + path, {
      method: method as 'GET',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: typeof body === 'object' ? JSON.stringify(body) : body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== status)
      this.wrong.push(`${method} ${path}: ${answer.statusCode}, not ${status}: ${text}`);
    const line = await this.lastLine(method, path);
    if (!line.includes(` cell_${cell}/`)) this.wrong.push(`${method} ${path} did not go to ${cell}: ${line}`);
    return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
  }

  private async lastLine(method: string, path: string): Promise<string> {
    for (let tries = 0; tries < 100; tries++) {
      const lines = this.log()
        .split('\n')
        .filter((line) => line.includes(' cells cell_'));
      if (lines.length >= this.calls) return lines[this.calls - 1];
      await pause(10);
    }
    return `nothing in the log of ${method} ${path}`;
  }
}

/** Makes the calls that a client of the given cell makes on a typical day. */
async function mainFlow(front: Front, cell: Letter, service: BenchedService): Promise<string> {
  const { consumer_key, consumer_secret, username, password } = service.client;
  const form = (members: Record<string, string>) => ({
    body: new URLSearchParams(members).toString(),
    headers: {
      authorization: `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  });
  const granted = await front.call(cell, 200, 'POST', '/token', form({ grant_type: 'password', username, password }));
  const refresh = { grant_type: 'refresh_token', refresh_token: granted.refresh_token };
  const { access_token: token } = await front.call(cell, 200, 'POST', '/token', form(refresh));
  await front.call(cell, 200, 'POST', '/introspect', form({ token }));
  const { scene } = service;
  const account = `/accounts/${scene.accountCode}`;
  const taken: string[] = [];
  for (const candidate of ['one', 'two']) {
    const body = JSON.parse(createBody(scene, candidate)) as object;
    taken.push((await front.call(cell, 200, 'POST', `${account}/candidates`, { token, body })).svc_eligiblity_id);
  }
  const exam = `${account}/candidates/one/tests/${scene.testCode}`;
  await front.call(cell, 200, 'GET', exam, { token });
  const booking = { booking_on: '2030-03-01T09:00:00Z', delivery_mode: 'SVC_REMOTE_PROCTORED' };
  const { booking_code } = await front.call(cell, 201, 'POST', `${exam}/bookings`, { token, body: booking });
  const later = { ...booking, booking_on: '2030-03-02T09:00:00Z' };
  await front.call(cell, 200, 'PUT', `${account}/bookings/${booking_code}`, { token, body: later });
  const launch = await front.call(cell, 200, 'GET', `/eligibilities/${taken[0]}/testLaunchInfo`, { token });
  await front.call(cell, 303, 'GET', new URL(launch.launch_url as string).pathname);
  const result = { examMetaData: { examCode: taken[0] } };
  await front.call(cell, 200, 'POST', '/registrations/registration/results', { token, body: result });
  await front.call(cell, 200, 'PUT', account, { token, body: { candidate_id: 'two', result_id: 'R-2' } });
  const changes = await front.call(cell, 200, 'GET', `${account}/changes`, { token });
  const told = changes.filter(({ change }: { change: string }) => change === 'RESULT_RECEIVED').length;
  if (told !== 2) front.wrong.push(`The feed of ${cell} tells of ${told} results, not of 2.`);
  return token;
}

async function main(): Promise<boolean> {
  installPrograms('haproxy');
  const stage = await Stage.open();
  try {
    const open = async (letter: Letter) => {
      const name = `cell_${letter.toLowerCase()}`;
      const service = await BenchedService.start(join(stage.folder, name), await stage.createDatabase(name), {
        CELL: letter,
      });
      stage.onClear(() => service.stop());
      return service;
    };
    const cells = { A: await open('A'), B: await open('B') };
    const port = await freePort();
    const hostOf = (letter: Letter) => new URL(cells[letter].url).host;
    const names = { 'bind :8080': `bind 127.0.0.1:${port}`, 'cell-a:3000': hostOf('A'), 'cell-b:3000': hostOf('B') };
    const proxy = haproxy(stage.folder, ['cells.cfg'], names);
    proxy.start();
    stage.onClear(() => proxy.kill('SIGTERM'));
    const front = new Front(`http://127.0.0.1:${port}`, () => proxy.log);
    // Waits until HAProxy's health checks have marked both cells as up.
    await pause(3_000);

    const tokens = { A: await mainFlow(front, 'A', cells.A), B: await mainFlow(front, 'B', cells.B) };
    const [ofA, ofB] = [cells.A, cells.B].map(({ scene }) => `/accounts/${scene.accountCode}/eligibilities`);
    await front.call('A', 403, 'GET', ofB, { token: tokens.A });
    await front.call('B', 403, 'GET', ofA, { token: tokens.B });
    await front.call('B', 401, 'GET', ofB);
    const host = 'b.eligibility.example';
    await front.call('B', 200, 'GET', '/openapi.json', { headers: { host } });
    await front.call('B', 200, 'GET', '/.well-known/jwks.json', { headers: { host } });
    await front.call('A', 404, 'GET', '/launch/none');
    await cells.B.stop();
    await pause(3_000);
    await front.call('B', 503, 'GET', ofB, { token: tokens.B });
    for (let call = 0; call < 20; call++) await front.call('A', 200, 'GET', ofA, { token: tokens.A });

    for (const fault of front.wrong) process.stderr.write(`${fault}\n`);
    process.stdout.write(
      `${front.calls} calls through the proxy, ${front.wrong.length} of them not as they should be.\n`,
    );
    return front.wrong.length === 0;
  } finally {
    await stage.close();
  }
}

runCommand(main);
