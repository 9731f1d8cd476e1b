import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');
const MOST_SECONDS = 30;

describe('npm run demo', () => {
  let folder: string;

  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'eligibility-demo-test-'))));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('npm run demo runs the whole flow, exits with code 0, and leaves no process and no file behind', async () => {
    const { code, output } = await run(folder);
    expect(output).toContain('The demo succeeded');
    expect(code).toBe(0);
    for (const line of [
      /eligibility created .*ELIGIBLE, for SANDBOX-ONE/,
      /sample answered with 200 +ACTIVE/,
      /partner: BOOKING_CREATED .*event 1, signature good, answered 200/,
      /partner: BOOKING_RESCHEDULED .*event 2/,
      /partner: BOOKING_CANCELLED .*event 3/,
      /partner: EXAM_COMPLETED .*event 2/,
      /revision 2 ACCOUNT, revision 1 REGISTRATION/,
      /in the error queue .*client_error 400, retry MANUAL/,
      /DELIVERED .*attempts: FIRST 400, MANUAL 200/,
      /EXAM_COMPLETED came once/,
      /the error queue is empty/,
    ])
      expect(output).toMatch(line);
    // The demo prints the notification as the partner received it.
    expect(output).toContain('"change_reason": "BOOKING_CREATED"');
    const [, seconds] = /succeeded in ([\d.]+) s/.exec(output)!;
    expect(Number(seconds)).toBeLessThan(MOST_SECONDS);
    expect(readdirSync(folder)).toEqual([]);
  }, 240_000);
});

/** Runs `npm run demo` as a user would, with `folder` for temporary files. */
function run(folder: string): Promise<{ code: number | null; output: string }> {
  const env = {
    ...process.env,
    TMPDIR: folder,
    NODE_ENV: '',
    // NODE_DISABLE_COMPILE_CACHE is set, because npm of Node.js 24 would write its compile cache to the folder for
    // temporary files.
    NODE_DISABLE_COMPILE_CACHE: '1',
  };
  const demo = spawn('npm', ['run', 'demo'], { cwd: ROOT, env });
  let output = '';
  const keep = (chunk: Buffer) => (output += chunk.toString('utf8'));
  demo.stdout.on('data', keep);
  demo.stderr.on('data', keep);
  return new Promise((done, fail) => {
    demo.once('error', fail);
    demo.once('close', (code) => done({ code, output }));
  });
}
