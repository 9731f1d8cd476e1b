import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { startPartner, type Partner } from '../support/partner';
import { dataFolder, ServiceProcess } from '../support/process';

const WRITERS = 8;
const KILL_AFTER_MS = 1_500;

describe('a crash of the service and the database', () => {
  const folder = dataFolder();
  let partner: Partner;
  let service: ServiceProcess;

  beforeAll(async () => {
    partner = await startPartner();
    service = await ServiceProcess.start(folder.path, { RATE_LIMIT_PER_MINUTE: '0' });
  });
  afterAll(async () => {
    await service.stop();
    await partner.stop();
    folder.remove();
  });

  it('after kill -9, every acknowledged booking is stored, and the partner is notified of each', async () => {
    const { account_code: account, tests, client, operator } = service.sandbox;
    const testCode = tests[0].test_code;
    const admin = await service.token(operator);
    const subscription = await service.call(admin, 'POST', '/admin/subscriptions', {
      account_code: account,
      partner_url: partner.url,
      ca_pem: partner.caPem,
    });
    expect(subscription.status).toBe(201);
    expect((await service.call(admin, 'POST', `/admin/subscriptions/${subscription.body.id}/verify`)).status).toBe(200);

    const token = await service.token(client);
    const acknowledged = new Map<string, string>();
    let killed = false;
    const write = async (writer: number) => {
      for (let n = 0; !killed; n++) {
        const candidate = `W${writer}-${n}`;
        const path = `/accounts/${account}/candidates`;
        const names = { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' };
        await service.call(token, 'POST', path, { test_code: testCode, candidate: names });
        const booking = await service.call(token, 'POST', `${path}/${candidate}/tests/${testCode}/bookings`, {
          booking_on: '2030-01-01T09:00:00Z',
          delivery_mode: 'SVC_REMOTE_PROCTORED',
        });
        if (booking.status === 201) acknowledged.set(booking.body.booking_code, candidate);
      }
    };
    const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer).catch(() => undefined));
    await pause(KILL_AFTER_MS);
    process.kill(service.postmasterPid, 'SIGKILL');
    await service.kill();
    killed = true;
    await Promise.all(writers);
    expect(acknowledged.size).toBeGreaterThan(WRITERS);

    service = await ServiceProcess.start(folder.path, { RATE_LIMIT_PER_MINUTE: '0' });
    // The test uses a token from before the crash, which must still be valid.
    for (const [booking, candidate] of acknowledged) {
      const found = await service.call(token, 'GET', `/accounts/${account}/bookings/${booking}`);
      expect(found).toMatchObject({ status: 200, body: { candidate_id: candidate, status: 'BOOKED' } });
    }
    await eventually(() => {
      const told = new Set(partner.requests.map((request) => request.json.booking_code as string));
      expect([...acknowledged.keys()].filter((booking) => !told.has(booking))).toEqual([]);
    }, 60_000);
  });

  it('the service stops with exit code 0 on SIGTERM, as soon as the current request is answered', async () => {
    const body = 'grant_type=password';
    // Opens a keep-alive connection, which must not delay the shutdown of the service.
    const socket = connect(Number(new URL(service.server.base_url).port), '127.0.0.1');
    socket.write(`POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n`);
    socket.write(`Authorization: Basic eDp5\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    await pause(300);
    const stopped = service.stop();
    await pause(300);
    const answered = once(socket, 'data');
    socket.write(body.slice(5));
    expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 401 /);
    const answeredAt = performance.now();
    expect(await stopped).toBe(0);
    // The process exits without waiting for the ten seconds of its grace period (SHUTDOWN_GRACE_MS).
    expect(performance.now() - answeredAt).toBeLessThan(4_000);
    service = await ServiceProcess.start(folder.path);
    expect(service.output).toContain('Ready: ');
  });

  it('the service prints no secret before or after kill -9', () => {
    const { client, operator } = service.sandbox;
    for (const secret of [client.password, client.consumer_secret, operator.password, operator.consumer_secret])
      expect(service.output).not.toContain(secret);
  });
});
