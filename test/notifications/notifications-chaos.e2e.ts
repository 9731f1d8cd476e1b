import { spawn } from 'node:child_process';
import { join } from 'node:path';

/**
 * The short form of `npm run chaos` (test/proof/chaos/chaos.ts), which kills separate processes of the service with
 * SIGKILL.
 */
test('while three processes are killed with kill -9, no notification is lost, sent without an event, or sent twice at the same time', async () => {
  const root = join(__dirname, '../..');
  const program = spawn(process.execPath, [join(root, 'scripts/start.mjs'), 'chaos', '--rounds', '3'], { cwd: root });
  let said = '';
  program.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  program.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => program.once('exit', resolve));
  expect(said).toContain('lost                    0');
  expect(code).toBe(0);
}, 300_000);
