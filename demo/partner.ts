/**
 * `npm run partner`: a partner for the walk-through of README.md. It is an HTTPS server on loopback, which prints each
 * notification that it receives and answers 200. Settings: `DATA_DIR` (the same as the service's), `PARTNER_PORT`
 * (8443).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import { join, resolve } from 'node:path';
import { selfSigned, type Identity } from '../test/support/certificates.js';

const YEAR_MS = 365 * 86_400_000;
const DATA_DIR = resolve(process.env['DATA_DIR'] || './data');
const PORT = Number(process.env['PARTNER_PORT'] || 8443);
const CERTIFICATE = join(DATA_DIR, 'partner-ca.pem');
const KEY = join(DATA_DIR, 'partner-key.pem');

async function main(): Promise<void> {
  mkdirSync(DATA_DIR, { recursive: true });
  const { certPem, keyPem } = keptIdentity() ?? (await newIdentity());
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      print(`${request.method} ${request.url}  webhook-id: ${String(request.headers['webhook-id'])}`);
      print(readable(Buffer.concat(chunks).toString('utf8')) + '\n');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.on('error', fail);
  await new Promise<void>((listening) => server.listen(PORT, '127.0.0.1', listening));
  const address = server.address();
  const url = `https://localhost:${typeof address === 'object' ? address?.port : PORT}`;
  print(`Partner: ${url}, certificate in ${CERTIFICATE}\nWaiting for notifications …\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      server.close(() => process.exit(0));
      server.closeAllConnections();
    });
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

function fail(error: Error): never {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

main().catch(fail);
