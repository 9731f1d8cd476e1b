/**
 * `npm run partner`: a partner for the walk-through of README.md. It is an HTTPS server on loopback, which prints each
 * notification that it receives and answers 200. Settings: `DATA_DIR` (the same as the service's), `PARTNER_PORT`
 * (8443).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { join, resolve } from 'node:path';
import { selfSigned, type Identity } from '../test/support/certificates.js';
import { Partner } from '../test/support/partner.js';

const YEAR_MS = 365 * 86_400_000;
const DATA_DIR = resolve(process.env['DATA_DIR'] || './data');
const PORT = Number(process.env['PARTNER_PORT'] || 8443);
const CERTIFICATE = join(DATA_DIR, 'partner-ca.pem');
const KEY = join(DATA_DIR, 'partner-key.pem');

async function main(): Promise<void> {
  mkdirSync(DATA_DIR, { recursive: true });
  const { certPem, keyPem } = keptIdentity() ?? (await newIdentity());
  const partner = new Partner({ certPem, keyPem }, certPem, { port: PORT });
  partner.answer(({ method, path, headers, raw }) => {
    print(`${method} ${path}  webhook-id: ${headers['webhook-id']}`);
    print(readable(raw.toString('utf8')) + '\n');
    return { headers: { 'content-type': 'application/json' }, body: '{}' };
  });
  await partner.comeUp();
  print(`Partner: ${partner.url}, certificate in ${CERTIFICATE}\nWaiting for notifications …\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => void partner.stop().then(() => process.exit(0)));
}

/** Reuses the certificate of an earlier start, so that a subscription that trusts it keeps working. */
function keptIdentity(): Identity | null {
  try {
    const identity = { certPem: readFileSync(CERTIFICATE, 'utf8'), keyPem: readFileSync(KEY, 'utf8') };
    const { validTo } = new X509Certificate(identity.certPem);
    return Date.parse(validTo) > Date.now() ? identity : null;
  } catch {
    return null;
  }
}

async function newIdentity(): Promise<Identity> {
  const identity = await selfSigned('localhost', { notAfter: new Date(Date.now() + YEAR_MS) });
  writeFileSync(KEY, identity.keyPem, { mode: 0o600 });
  writeFileSync(CERTIFICATE, identity.certPem);
  return identity;
}

function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(error: NodeJS.ErrnoException): never {
  const hint = error.code === 'EADDRINUSE' ? ': set PARTNER_PORT to another port' : '';
  process.stderr.write(`${error.message}${hint}\n`);
  process.exit(1);
}

main().catch(fail);
