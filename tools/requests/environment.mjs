// The variables of a sandbox for both files. usage: node tools/requests/environment.mjs [data/sandbox.json] [FOLDER]
// Writes sandbox.postman_environment.json and http-client.private.env.json there (requests by default): secrets, not for git.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FOLDER } from './generate.mjs';

export function writeEnvironment(file, folder) {
  const { base_url, account_code, client, operator, partner } = JSON.parse(readFileSync(file, 'utf8'));
  const login = (who, { consumer_key, consumer_secret, username, password }) => ({
    [`${who}_key`]: consumer_key,
    [`${who}_secret`]: consumer_secret,
    [`${who}_username`]: username,
    [`${who}_password`]: password,
  });
  const values = {
    ...{ base_url, account_code, partner_url: partner.partner_url },
    // It stands within JSON texts.
    ca_pem: JSON.stringify(partner.ca_pem).slice(1, -1),
    ...login('client', client),
    ...login('operator', operator),
  };
  const postman = join(folder, 'sandbox.postman_environment.json');
  const pairs = Object.entries(values).map(([key, value]) => ({ key, value, enabled: true }));
  writeFileSync(postman, JSON.stringify({ name: 'Sandbox', values: pairs }, null, 2), { mode: 0o600 });
  const http = join(folder, 'http-client.private.env.json');
  writeFileSync(http, JSON.stringify({ sandbox: values }, null, 2), { mode: 0o600 });
  return { postman, http };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { postman, http } = writeEnvironment(process.argv[2] ?? 'data/sandbox.json', process.argv[3] ?? FOLDER);
  console.log(`${postman}\n${http}`);
}
