import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from './support/eventually';

const ROOT = resolve(__dirname, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

/** A program that is left running, and what it has said so far. */
class Running {
  output = '';
  readonly exit: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    child.stdout!.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    child.stderr!.on('data', (chunk: Buffer) => (this.output += chunk.toString('utf8')));
    this.exit = new Promise((done) => child.once('close', done));
  }

  /** What the pattern's group matches in the output, as soon as it does. */
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
  it('names only scripts that exist', () => {
    const named = [...README.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name);
    expect(named).toEqual(expect.arrayContaining(['demo', 'partner', 'admin', 'check', 'build']));
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('names only files that exist', () => {
    const files = [...README.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, file]) => file);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  describe('the walk through', () => {
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

    /** An npm script, in a folder of the test's own. */
    function start(script: string, env: Record<string, string>): Running {
      const [program, file, ...rest] = scripts[script].split(' ');
      expect(program).toBe('node');
      const child = spawn(process.execPath, [join(ROOT, file), ...rest], { cwd: folder, env: plain(env) });
      return new Running(child);
    }

    it('does what it says, typed as it stands', async () => {
      const [first, ...lines] = blocksOf('A walk through');
      expect(first).toBe('npm run partner\n');
      service = start('start', { PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'warn' });
      const base = await service.says(/Ready: (\S+)/);
      partner = start('partner', { PARTNER_PORT: '0' });
      const partnerUrl = await partner.says(/Partner: (\S+?),/);

      const shell = new Running(
        spawn('sh', ['-eu', '-c', lines.join('\n')], { cwd: folder, env: plain({ BASE: base, PARTNER: partnerUrl }) }),
      );
      expect(`${await shell.exit} ${shell.output}`).toMatch(/^0 /);
      const [subscription, eligibility, booking, records] = shell.output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(subscription.state).toBe('ACTIVE');
      expect(eligibility.status).toBe('ELIGIBLE');
      expect(booking.status).toBe('BOOKED');
      expect(records[0].status).toBe('COMPLETED');

      await partner.says(/"EXAM_COMPLETED"/);
      const reasons = [...partner.output.matchAll(/"change_reason": "(\w+)"/g)].map(([, reason]) => reason);
      // The first is the sample.
      expect(reasons).toEqual(['BOOKING_CREATED', 'BOOKING_CREATED', 'EXAM_COMPLETED']);
      expect(partner.output.split(booking.booking_code)).toHaveLength(3);
      expect(await partner.stop()).toBe(0);
      expect(await service.stop()).toBe(0);
    }, 240_000);
  });
});

/** The environment of a newcomer: none of the service's settings, and none of the test's. */
function plain(more: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR, ...more };
}

/** The `sh` blocks of a section. */
function blocksOf(title: string): string[] {
  const [, section = ''] = README.split(`\n## ${title}\n`);
  const [text] = section.split('\n## ');
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
}
