import { readFileSync } from 'node:fs';

/** The settings that can also be read from files. Docker, Kubernetes and systemd pass secrets as files. */
const SECRETS = ['DATABASE_URL', 'SECRETS_KEY', 'OIDC_CLIENT_SECRET', 'SMTP_URL'];

/**
 * Reads each secret `X` from the file that the `X_FILE` variable names. A line break at the end of the file is removed.
 * @param fault called for each faulty variable
 */
export function withSecretFiles(
  env: NodeJS.ProcessEnv,
  fault: (name: string, what: string) => void,
): NodeJS.ProcessEnv {
  const read = { ...env };
  for (const name of SECRETS) {
    const variable = `${name}_FILE`;
    const file = env[variable];
    if (file === undefined || file === '') continue;
    if (env[name]) fault(variable, `and ${name} must not both be set`);
    try {
      read[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      if (read[name] === '') fault(variable, 'names an empty file');
    } catch (error) {
      fault(variable, `names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  return read;
}
