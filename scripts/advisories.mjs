// Asks the registry for advisories about the packages that run: `node scripts/advisories.mjs`. It ends with 0 if there
// are none, with 1 if there are some, and with 75 if the registry does not answer that question, because a mirror may
// lack the route. Nothing is known about the packages in the last case.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const NOT_CHECKED = 75;

const { stdout, stderr, error } = spawnSync('npm', ['audit', '--omit', 'dev', '--json'], {
  cwd: dirname(dirname(fileURLToPath(import.meta.url))),
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});

/** Returns the report of npm; null if npm printed anything else. */
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
