import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { EligibilityClient } from '../../clients/typescript/src/index';
import { isSigned } from '../../demo/signature';
import { eventually } from '../support/eventually';

const ROOT = resolve(__dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** A program that keeps running while the test continues, and the output that it has written so far. */
class Running {
  output = '';
  readonly exit: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    child.stdout!.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    child.stderr!.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    this.exit = new Promise((done) => child.once('close', done));
  }

  /** Waits until the output matches the pattern. Returns the text that the group of the pattern matched. */
  async says(pattern: RegExp): Promise<string> {
    return eventually(() => {
      const found = pattern.exec(this.output);
      if (!found) throw new Error(`${pattern} is not in\n${this.output}`);
      return found[1] ?? found[0];
    }, 120_000);
  }

  stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exit;
  }
}

describe('README.md', () => {
  it('README.md names only scripts that exist', () => {
    const named = [...README.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(['demo', 'partner', 'check']));
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('README.md names only files that exist', () => {
    const files = [...README.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, file]) => file);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  describe('the commands of the walk-through', () => {
    let folder: string;
    let service: Running;
    let partner: Running;

    beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'eligibility-readme-'))));

    afterAll(async () => {
      await partner?.stop();
      await service?.stop();
      const cluster = join(folder, 'data/postgres');
      if (existsSync(cluster)) rmSync(realpathSync(cluster), { recursive: true, force: true });
      rmSync(folder, { recursive: true, force: true });
    });

    /** Starts an npm script in a separate folder. */
    function start(script: string, env: Record<string, string>): Running {
      const [program, file, ...rest] = scripts[script].split(' ');
      expect(program).toBe('node');
      const child = spawn(process.execPath, [join(ROOT, file), ...rest], { cwd: folder, env: plain(env) });
      return new Running(child);
    }

    it('the walk-through commands in README.md work exactly as written', async () => {
      const [first, ...lines] = blocksOf(README, 'A walk-through');
      expect(first).toBe('npm run partner\n');
      service = start('start', { PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'warn' });
      const base = await service.says(/Ready: (\S+)/);
      partner = start('partner', { PARTNER_PORT: '0' });
      const partnerUrl = await partner.says(/Partner: (\S+?),/);

      const shell = new Running(
        spawn('sh', ['-eu', '-c', lines.join('\n')], { cwd: folder, env: plain({ BASE: base, PARTNER: partnerUrl }) }),
      );
      expect(`${await shell.exit} ${shell.output}`).toMatch(/^0 /);
      const [subscription, eligibility, booking, status, records, queue] = shell.output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(subscription.state).toBe('ACTIVE');
      expect(eligibility.status).toBe('ELIGIBLE');
      expect(booking.status).toBe('BOOKED');
      expect(status).toBe(200);
      expect(records[0].status).toBe('COMPLETED');
      // The partner is still running here, so the account's error queue is empty.
      expect(queue).toEqual([]);

      await partner.says(/"EXAM_COMPLETED"/);
      const reasons = [...partner.output.matchAll(/"change_reason": "(\w+)"/g)].map(([, reason]) => reason);
      // The partner first receives the sample notification with which the service verifies the partner.
      expect(reasons).toEqual(['BOOKING_CREATED', 'BOOKING_CREATED', 'EXAM_COMPLETED']);
      expect(partner.output.split(booking.booking_code)).toHaveLength(3);
    }, 240_000);

    it('the error queue commands in docs/operations.md work after the walk-through in README.md', async () => {
      const base = await service.says(/Ready: (\S+)/);
      const sandbox = JSON.parse(readFileSync(join(folder, 'data/sandbox.json'), 'utf8'));
      const { consumer_key, consumer_secret, username, password } = sandbox.operator;
      const client = new EligibilityClient({
        baseUrl: base,
        credentials: { consumerKey: consumer_key, consumerSecret: consumer_secret, username, password },
      });
      const token = await client.accessToken();
      const { api: operator } = client;
      const { data: [subscription] = [] } = await operator.GET('/admin/subscriptions');
      const params = { path: { id: subscription.id } };
      // Without `ca_pem` the service does not trust the partner's certificate, so the delivery fails.
      await operator.PATCH('/admin/subscriptions/{id}', { params, body: { ca_pem: null } });
      const path = { account_code: sandbox.account_code, candidate_id: 'grace', test_code: 'SANDBOX-ONE' };
      const candidate = { candidate_id: 'grace', first_name: 'Grace', last_name: 'Hopper' };
      await operator.POST('/accounts/{account_code}/candidates', {
        params: { path },
        body: { test_code: 'SANDBOX-ONE', candidate },
      });
      const { data: booked } = await operator.POST(
        '/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/bookings',
        { params: { path }, body: { booking_on: '2030-05-14T09:00:00Z', delivery_mode: 'SVC_REMOTE_PROCTORED' } },
      );
      const { booking_code } = booked!;
      await operator.DELETE('/accounts/{account_code}/bookings/{booking_code}', {
        params: { path: { ...path, booking_code } },
      });
      const queued = async () => {
        const query = { failure: 'tls', retry: 'MANUAL' } as const;
        return (await operator.GET('/admin/error-queue', { params: { query } })).data!;
      };
      await eventually(async () => (await queued()).length === 2, 30_000);
      await operator.PATCH('/admin/subscriptions/{id}', { params, body: { ca_pem: subscription.ca_pem } });

      const blocks = blocksOf(readFileSync(join(ROOT, 'docs/operations.md'), 'utf8'), 'The error queue');
      expect(blocks).toHaveLength(5);
      const env = plain({ BASE: base, OPERATOR: token, ACCOUNT: sandbox.account_code });
      const shell = new Running(spawn('sh', ['-eu', '-c', blocks.join('\n')], { cwd: folder, env }));
      expect(`${await shell.exit} ${shell.output}`).toMatch(/^0 /);
      expect(shell.output).toMatch(/"state":"(PREPARING|RUNNING|DONE)"/);
      await eventually(async () => (await queued()).length === 0, 30_000);
      await eventually(() => partner.output.split(booking_code).length === 3, 30_000);
      expect(await partner.stop()).toBe(0);
      expect(await service.stop()).toBe(0);
    }, 240_000);
  });
});

describe('docs/', () => {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

  it.each(['configuration', 'operations', 'notifications', 'architecture', 'concepts', 'decisions/README'])(
    '%s.md names only files that exist',
    (name) => {
      const folder = dirname(join(ROOT, 'docs', name));
      const files = [...read(`docs/${name}.md`).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, file]) => file);
      expect(files.filter((file) => !existsSync(join(folder, file)))).toEqual([]);
    },
  );

  it('configuration.md documents every setting with its default', () => {
    const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` +\| (.*?) +\|/gm)];
    const documented = new Map(rows.map(([, name, fallback]) => [name, fallback]));
    const owners = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const source = owners
      .filter((file) => file.endsWith('.config.ts'))
      .map((file) => read(`src/${file}`))
      .join('');
    const settings = [...source.matchAll(/read\s*\.(?!fault)\w+\(\s*'([A-Z_]+)'(?:, ([\d_]+|'[^']*'|\[[\d, ]+\]))?/g)];
    expect([...documented.keys()].sort()).toEqual([...new Set(settings.map(([, name]) => name))].sort());
    for (const [, name, fallback] of settings)
      if (fallback) expect(`${name} ${documented.get(name)}`).toBe(`${name} ${written(fallback)}`);
  });

  it('operations.md documents every metric of the service', () => {
    const sources = [
      'src/notifications/delivery/delivery-metrics.ts',
      'src/notifications/delivery/replication-gate.ts',
      'src/notifications/delivery/undelivered-figures.ts',
      'src/platform/audit/audit-metrics.ts',
      'src/platform/database/database-metrics.ts',
      'src/platform/http/request-metrics.ts',
      'src/platform/observability/metrics.ts',
    ];
    const named = /(?:name: |figures?\(\s*)'(\w+)'/g;
    const own = sources.flatMap((file) => [...read(file).matchAll(named)].map(([, name]) => name));
    const metrics = read('docs/operations.md').split('## Metrics')[1].split('\n## ')[0];
    const documented = [...metrics.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
    expect(documented.sort()).toEqual(own.sort());
  });

  it('decisions/README.md lists every decision record', () => {
    const records = readdirSync(join(ROOT, 'docs/decisions')).filter((file) => /^\d/.test(file));
    const listed = [...read('docs/decisions/README.md').matchAll(/\]\((\d[^)]+)\)/g)].map(([, file]) => file);
    expect(listed).toEqual(records.sort());
  });

  it('notifications.md shows a signature check that accepts only genuine notifications', () => {
    const [, code] = /^```js\n([\s\S]*?)^```$/m.exec(read('docs/notifications.md'))!;
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const isGenuine = new Function('require', `${code}; return isGenuine;`)(require) as typeof isSigned;
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const body = Buffer.from('{"booking_code":"B"}');
    const headersAt = (at: Date, key = secret) => ({
      'webhook-id': 'one',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(key).sign('one', at, body.toString()),
    });
    const good = headersAt(new Date());
    const other = headersAt(new Date(), `whsec_${randomBytes(32).toString('base64')}`);
    const both = { ...good, 'webhook-signature': `${other['webhook-signature']} ${good['webhook-signature']}` };
    for (const check of [isGenuine, isSigned]) {
      expect(check(good, body, secret)).toBe(true);
      expect(check(both, body, secret)).toBe(true);
      expect(check(other, body, secret)).toBe(false);
      expect(check(good, Buffer.from('{"booking_code":"C"}'), secret)).toBe(false);
      expect(check({ ...good, 'webhook-id': 'two' }, body, secret)).toBe(false);
      expect(check(headersAt(new Date(Date.now() - 3600_000)), body, secret)).toBe(false);
      expect(check({ ...good, 'webhook-signature': 'v1,' }, body, secret)).toBe(false);
    }
  });
});

/** Converts a default value in the source code to the notation of the document. */
function written(fallback: string): string {
  const plain = fallback.replaceAll(/['_[\] ]/g, '');
  return plain === '' ? 'empty' : `\`${plain}\``;
}

/** Returns the environment of a new user, without settings of the service or the test. */
function plain(more: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR, ...more };
}

/** Returns the `sh` blocks in a section of a document. */
function blocksOf(document: string, title: string): string[] {
  const [, section = ''] = document.split(`\n## ${title}\n`);
  const [text] = section.split('\n## ');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
}
