// Asks the npm registry for security advisories about the packages that the running service uses: `node
// scripts/advisories.mjs`. The exit code is 0 if there are no advisories, and 1 if there are some. It is 75 if the
// registry gives no report, as some mirrors do not support such requests.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const NOT_CHECKED = 75;

const { stdout, stderr, error } = spawnSync('npm', ['audit', '--omit', 'dev', '--json'], {
  cwd: dirname(dirname(fileURLToPath(import.meta.url))),
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});

/** Returns the report of `npm audit`; null if npm printed no such report. */
function report() {
  try {
    const read = JSON.parse(stdout);
    return typeof read.metadata?.vulnerabilities?.total === 'number' ? read : null;
  } catch {
    return null;
  }
}

const found = report();
if (found === null) {
  const [reason = 'npm printed no report'] =
    /\b[45]\d\d [A-Z][\w ]+ - \S+ \S+/.exec(stderr) ?? /^npm error (?!A complete).+$/m.exec(stderr) ?? [];
  process.stdout.write(`Advisories NOT CHECKED: the registry gave no answer (${error?.message ?? reason}).\n`);
  process.exitCode = NOT_CHECKED;
} else if (found.metadata.vulnerabilities.total === 0)
  process.stdout.write(`No advisories for ${found.metadata.dependencies?.prod ?? 'the'} packages that run.\n`);
else {
  for (const { name, severity, range } of Object.values(found.vulnerabilities))
    process.stdout.write(`${severity}: ${name} ${range}\n`);
  process.exitCode = 1;
}
