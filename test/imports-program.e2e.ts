import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { startApp, type TestApp } from './support/app';

describe('npm run import', () => {
  let app: TestApp;
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-import-'));

  beforeAll(async () => (app = await startApp()));
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  it('sends a file by the credentials of a file, and ends with the path of the report', async () => {
    const { account, testCode } = await app.given.scene();
    const operator = await app.given.operator();
    const password = 'correct-zebra-9-battery-moth';
    const scopes = ['read', 'create'];
    await app.call('POST', '/admin/users', {
      token: operator,
      body: { username: 'season', password, account_codes: [account], scopes },
    });
    const application = await app.call('POST', '/admin/applications', {
      token: operator,
      body: { name: 'cli', scopes },
    });
    expect(application.status).toBe(201);
    const { consumer_key, consumer_secret } = application.body;
    const credentials = join(folder, 'credentials.json');
    writeFileSync(
      credentials,
      JSON.stringify({
        base_url: app.url,
        token_url: app.url,
        account_code: account,
        client: { consumer_key, consumer_secret, username: 'season', password },
      }),
    );
    const file = join(folder, 'season.csv');
    writeFileSync(
      file,
      `candidate_id,first_name,last_name,test_code\nP-1,Ada,Lovelace,${testCode}\nP-2,,X,${testCode}\n`,
    );
    const program = join(folder, 'import-file.cjs');
    const entryPoints = [join(__dirname, '../src/import-file.ts')];
    buildSync({ entryPoints, outfile: program, bundle: true, platform: 'node', format: 'cjs' });

    const child = spawn(process.execPath, [program, file, '--credentials', credentials]);
    let output = '';
    child.stdout.on('data', (piece: Buffer) => (output += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (output += piece.toString()));
    const code = await new Promise((resolve) => child.on('exit', resolve));
    expect(output).toContain('DONE: 1 created, 0 updated, 0 cancelled, 1 refused');
    expect([code, output.trim().split('\n').at(-1)]).toEqual([1, `${file}.report.csv`]);
    expect(readFileSync(`${file}.report.csv`, 'utf8')).toContain('2,REFUSED,required,/candidate/first_name');
  });
});
