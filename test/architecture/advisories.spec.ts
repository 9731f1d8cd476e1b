import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const script = join(__dirname, '../../scripts/advisories.mjs');
const folder = mkdtempSync(join(tmpdir(), 'eligibility-advisories-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs scripts/advisories.mjs with a substitute for npm that prints the given texts. */
function advisories(printed: object | string, error = '') {
  writeFileSync(join(folder, 'out'), typeof printed === 'string' ? printed : JSON.stringify(printed));
  writeFileSync(join(folder, 'err'), error);
  const npm = `#!/bin/sh\ncat '${folder}/out'\ncat '${folder}/err' >&2\n[ ! -s '${folder}/err' ]\n`;
  writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}` };
  const { status, stdout } = spawnSync(process.execPath, [script], { env, encoding: 'utf8' });
  return { status, stdout };
}

const counted = (total: number) => ({ vulnerabilities: { total }, dependencies: { prod: 236 } });

describe('the check of advisories', () => {
  it('the advisory check passes if the registry knows no advisory', () => {
    expect(advisories({ vulnerabilities: {}, metadata: counted(0) })).toEqual({
      status: 0,
      stdout: 'No advisories for 236 packages that run.\n',
    });
  });

  it('the advisory check fails and names the packages that have advisories', () => {
    const qs = { name: 'qs', severity: 'high', range: '<6.14.1' };
    expect(advisories({ vulnerabilities: { qs }, metadata: counted(1) })).toEqual({
      status: 1,
      stdout: 'high: qs <6.14.1\n',
    });
  });

  it.each([
    ['405', '405 Method Not Allowed - POST https://registry.example/-/npm/v1/security/advisories/bulk'],
    ['404', '404 Not Found - POST https://registry.example/-/npm/v1/security/audits/quick'],
  ])(
    'the advisory check does not pass if the registry answers %s, and reports that nothing was checked',
    (_status, reason) => {
      const message = { message: reason, error: { summary: '' } };
      for (const printed of ['', message])
        expect(advisories(printed, `npm warn audit ${reason}\n\nnpm error audit endpoint returned an error\n`)).toEqual(
          {
            status: 75,
            stdout: `Advisories NOT CHECKED: the registry gave no answer (${reason}).\n`,
          },
        );
    },
  );

  it('the advisory check reports that nothing was checked if npm prints no report, whatever the reason', () => {
    expect(advisories('', 'npm error network request failed\n')).toEqual({
      status: 75,
      stdout: 'Advisories NOT CHECKED: the registry gave no answer (npm error network request failed).\n',
    });
  });
});
