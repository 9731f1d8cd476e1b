import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { startApp, type TestApp } from '../support/app';

describe('npm run import', () => {
  let app: TestApp;
  let start: (...args: string[]) => ReturnType<typeof spawn>;
  let testCode: string;
  let account: string;
  let token: string;
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-import-'));

  beforeAll(async () => {
    app = await startApp();
    await given();
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  async function given(): Promise<void> {
    ({ account, testCode, token } = await app.given.scene());
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
    const program = join(folder, 'import-file.cjs');
    const entryPoints = [join(__dirname, '../../src/import-file.ts')];
    buildSync({ entryPoints, outfile: program, bundle: true, platform: 'node', format: 'cjs' });

    start = (...args) => spawn(process.execPath, [program, ...args, '--credentials', credentials]);
  }

  async function ended(child: ReturnType<typeof spawn>): Promise<{ code: number; output: string }> {
    let output = '';
    child.stdout!.on('data', (piece: Buffer) => (output += piece.toString()));
    child.stderr!.on('data', (piece: Buffer) => (output += piece.toString()));
    const code = await new Promise<number>((resolve) => child.on('exit', resolve));
    return { code, output };
  }

  it('npm run import reads credentials from a file, prints the path of its report, and keeps the report of an earlier run', async () => {
    const file = join(folder, 'season.csv');
    writeFileSync(
      file,
      `candidate_id,first_name,last_name,test_code\nP-1,Ada,Lovelace,${testCode}\nP-2,,X,${testCode}\n`,
    );
    const first = await ended(start(file));
    expect(first.output).toContain('DONE: 1 created, 0 updated, 0 cancelled, 1 refused');
    expect([first.code, first.output.trim().split('\n').at(-1)]).toEqual([1, `${file}.report.csv`]);
    expect(readFileSync(`${file}.report.csv`, 'utf8')).toContain('2,REFUSED,required,/candidate/first_name');
    const second = await ended(start(file));
    expect(second.output.trim().split('\n').at(-1)).toBe(`${file}.report-2.csv`);
    expect(readFileSync(`${file}.report.csv`, 'utf8')).toContain('1,CREATED');
    expect(readFileSync(`${file}.report-2.csv`, 'utf8')).toContain('1,REFUSED,duplicate_eligibility');
  });

  it('npm run import prints every fault of a refused file, and writes no report', async () => {
    const file = join(folder, 'refused.csv');
    writeFileSync(file, 'candidate_id,End Date,colour\nA,B,C\n');
    const { code, output } = await ended(start(file));
    expect(code).toBe(1);
    expect(output).toContain('Did you mean "eligibility_end_date"?');
    expect(output).toContain('"colour"');
    expect(output).toContain('The column test_code is missing.');
    expect(existsSync(`${file}.report.csv`)).toBe(false);
  });

  it('npm run import explains how to convert an Excel workbook', async () => {
    const { code, output } = await ended(start(join(folder, 'season.xlsx')));
    expect([code, output]).toEqual([1, expect.stringMatching(/workbook.*CSV UTF-8/)]);
  });

  it('npm run import aborts the import on Ctrl-C, and prints the id of the import', async () => {
    const file = join(folder, 'long.csv');
    const rows = Array.from({ length: 60_000 }, (_, number) => `L-${number},Ada,Lovelace,${testCode}\n`);
    writeFileSync(file, `candidate_id,first_name,last_name,test_code\n${rows.join('')}`);
    const child = start(file);
    const id = await new Promise<string>((resolve) => {
      let told = '';
      child.stderr!.on('data', (piece: Buffer) => {
        told += piece.toString();
        const [, found] = /import ([0-9a-f-]{36})/.exec(told) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    child.kill('SIGINT');
    const { code, output } = await ended(child);
    expect([code, output]).toEqual([130, expect.stringContaining(`Stopping the import ${id}`)]);
    const { body } = await app.call('GET', `/accounts/${account}/eligibility-imports/${id}`, { token });
    expect([body.state, body.done < 60_000]).toEqual(['ABORTED', true]);
    expect(readFileSync(`${file}.report.csv`, 'utf8')).toContain('import_aborted');
  });
});
