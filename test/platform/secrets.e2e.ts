import pg from 'pg';
import { eventually } from '../support/eventually';
import { startPartner, type Partner } from '../support/partner';
import { dataFolder, ServiceProcess } from '../support/process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PHOTO = Buffer.from('a photograph that nobody else may see').toString('base64');
const VIDEO = 'https://videos.example/review/unguessable-4711';
const BASIC_PASSWORD = 'partner-basic-password-4711';

describe('secrets after the main flow', () => {
  const folder = dataFolder();
  const secrets: Record<string, string> = {};
  let service: ServiceProcess;
  let partner: Partner;
  let dump = '';
  let answers = '';

  beforeAll(async () => {
    partner = await startPartner();
    service = await ServiceProcess.start(folder.path, { LOG_LEVEL: 'trace' });
    const { account_code: account, tests, client, operator } = service.sandbox;
    const admin = await service.token(operator);
    const token = await service.token(client);
    const testCode = tests[0].test_code;
    const call = async (as: string, method: string, path: string, body?: unknown) => {
      const answer = await service.call(as, method, path, body);
      expect(answer.status).toBeLessThan(300);
      return answer.body;
    };
    const subscription = await call(admin, 'POST', '/admin/subscriptions', {
      account_code: account,
      partner_url: partner.url,
      ca_pem: partner.caPem,
      auth: { type: 'basic', username: 'service', password: BASIC_PASSWORD },
    });
    await call(admin, 'POST', `/admin/subscriptions/${subscription.id}/verify`);
    const application = await call(admin, 'POST', '/admin/applications', { name: 'second', scopes: ['read'] });
    const user = {
      username: 'grace',
      password: 'a-password-of-grace-4711',
      account_codes: [account],
      scopes: ['read'],
    };
    await call(admin, 'POST', '/admin/users', user);
    const candidate = { candidate_id: 'S-1', first_name: 'Ada', last_name: 'Lovelace' };
    const eligibility = await call(token, 'POST', `/accounts/${account}/candidates`, {
      test_code: testCode,
      candidate,
    });
    await call(token, 'POST', `/accounts/${account}/candidates/S-1/tests/${testCode}/bookings`, {
      booking_on: '2030-01-01T09:00:00Z',
      delivery_mode: 'SVC_REMOTE_PROCTORED',
    });
    const launch = await call(token, 'GET', `/eligibilities/${eligibility.svc_eligiblity_id}/testLaunchInfo`);
    await fetch(launch.launch_url as string, { redirect: 'manual' });
    await call(token, 'POST', '/registrations/registration/results', {
      examMetaData: { examCode: eligibility.svc_eligiblity_id },
      userPhotoBase64String: PHOTO,
      videoReviewLink: VIDEO,
    });
    await eventually(() => partner.requests.some((request) => request.json.change_reason === 'EXAM_COMPLETED'));
    Object.assign(secrets, {
      'access token': token,
      'operator’s access token': admin,
      'client’s password': client.password,
      'client’s consumer secret': client.consumer_secret,
      'operator’s password': operator.password,
      'operator’s consumer secret': operator.consumer_secret,
      'new consumer secret': application.consumer_secret,
      'new password': user.password,
      'signing secret': subscription.signing_secret.replace('whsec_', ''),
      'partner’s password': BASIC_PASSWORD,
      'partner’s password in Basic': btoa(`service:${BASIC_PASSWORD}`),
      'launch code': new URL(launch.launch_url as string).pathname.split('/').at(-1)!,
      photo: PHOTO,
      'video link': VIDEO,
    });
    dump = await dumpOf(folder.path);
    for (const path of [
      '/admin/subscriptions',
      '/admin/users',
      '/admin/applications',
      '/admin/audit',
      '/admin/notifications',
    ])
      answers += JSON.stringify(await call(admin, 'GET', path));
  });
  afterAll(async () => {
    await service.stop();
    await partner.stop();
    folder.remove();
  });

  it('a booking, a launch and a result leave data in the database, the log and the responses', () => {
    expect(Object.keys(secrets)).toHaveLength(14);
    expect(dump).toContain('EXAM_COMPLETED');
    expect(dump).toContain('Lovelace');
    expect(service.output).toContain('/registrations/registration/results');
    expect(answers).toContain('subscription.create');
  });

  it('no secret is stored in plain text in the database', () => {
    for (const [name, secret] of Object.entries(secrets))
      for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret, 'base64').toString('hex')])
        expect({ name, found: dump.includes(form) }).toEqual({ name, found: false });
  });

  it('the log contains no secret and no personal data after a booking, a launch and a result', () => {
    for (const [name, secret] of Object.entries(secrets))
      expect({ name, found: service.output.includes(secret) }).toEqual({ name, found: false });
    for (const personal of ['Lovelace', '"S-1"', '/S-1']) expect(service.output).not.toContain(personal);
  });

  it('responses to operators contain no secret after a booking, a launch and a result', () => {
    for (const [name, secret] of Object.entries(secrets))
      expect({ name, found: answers.includes(secret) }).toEqual({ name, found: false });
  });
});

/** Returns every row of every table of the database as text. */
async function dumpOf(dataDir: string): Promise<string> {
  const port = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[3].trim();
  const password = readFileSync(join(dataDir, 'postgres.secret'), 'utf8').trim();
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(port),
    user: 'postgres',
    password,
    database: 'candidate_eligibility',
  });
  await client.connect();
  const tables = await client.query<{ tablename: string }>(
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`,
  );
  let text = '';
  for (const { tablename } of tables.rows) {
    const { rows } = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${tablename} t`);
    text += rows.map(({ row }) => row).join('\n');
  }
  await client.end();
  return text;
}
