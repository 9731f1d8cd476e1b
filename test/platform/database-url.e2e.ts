import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../src/platform/environment-reader';
import { connectUsable } from '../../src/platform/database/database-check';
import { Authority } from '../support/certificates';
import { cloneDatabase } from '../support/database';
import { PostgresServer } from '../support/servers';

/**
 * Tests section 13 of the contract: the service reads DATABASE_URL as libpq does, and reports a fault in the URL in one
 * line. Returns this line.
 */
async function faultOf(url: string): Promise<string> {
  const error: unknown = await connectUsable(url).then(
    (client) => client.end(),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  const { faults } = error as ConfigError;
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(/^DATABASE_URL [^\n]+\.$/);
  return faults[0];
}

describe('a fault in DATABASE_URL', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  const changed = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  beforeAll(async () => {
    database = await cloneDatabase({ migrated: false });
  });
  afterAll(() => database.drop());

  it.each<[string, (url: URL) => void, RegExp]>([
    [
      'a password',
      (url) => (url.password = 'tr0ub4dor'),
      /28P01.* a user or a password that the server does not accept/,
    ],
    ['no password', (url) => (url.password = ''), /a user or a password/],
    ['a user', (url) => (url.username = 'nobody-here'), /a user or a password/],
    ['a database', (url) => (url.pathname = '/not_there'), /3D000.* a database that does not exist: create it/],
    ['a port', (url) => (url.port = '1'), /127\.0\.0\.1:1, ECONNREFUSED.* where nothing listens/],
    [
      'a host',
      (url) => (url.hostname = 'no-such-host.invalid'),
      /no-such-host\.invalid:\d+, (ENOTFOUND|EAI_AGAIN).* has no address/,
    ],
    ['template0', (url) => (url.pathname = '/template0'), /55000.* accepts no connections/],
    [
      'an option that PostgreSQL does not know',
      (url) => (url.search = '?options=-c%20tr0ub4dor=1'),
      /42704.* has options that PostgreSQL does not accept/,
    ],
    [
      'a value that an option does not have',
      (url) => (url.search = '?options=-c%20statement_timeout=tr0ub4dor'),
      /22023.* has options that PostgreSQL does not accept/,
    ],
    [
      'an option that is set at the start of the server',
      (url) => (url.search = '?options=-c%20shared_buffers=1MB'),
      /55P02.* has options that PostgreSQL does not accept/,
    ],
    [
      'TLS that the server does not speak',
      (url) => (url.search = '?sslmode=require'),
      /asks for TLS, which the server does not support/,
    ],
  ])('reports a fault in DATABASE_URL in one line, without the password: %s', async (_, change, expected) => {
    const fault = await faultOf(changed(change));
    expect(fault).toMatch(expected);
    expect(fault).not.toContain('tr0ub4dor');
    expect(fault).not.toContain(new URL(database.url).password);
  });

  it('reports within seconds that a program other than PostgreSQL listens on the port in DATABASE_URL', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await faultOf(changed((url) => (url.port = String(port))))).toMatch(/do not answer as PostgreSQL does/);
    server.close();
  });
});

describe('sslmode', () => {
  let server: PostgresServer;
  let root: string;
  let foreignRoot: string;
  let noCertificate: string;
  let strangeKey: string;
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-tls-'));
  const url = (query: string, host = 'localhost') =>
    `postgres://postgres:${server.secret}@${host}:${server.port}/postgres${query}`;

  beforeAll(async () => {
    const authority = await Authority.create();
    const other = await Authority.create('Another authority');
    root = join(folder, 'root.pem');
    foreignRoot = join(folder, 'foreign.pem');
    writeFileSync(root, authority.certPem);
    writeFileSync(foreignRoot, other.certPem);
    noCertificate = join(folder, 'no-certificate.pem');
    strangeKey = join(folder, 'strange-key.pem');
    writeFileSync(noCertificate, 'not a certificate');
    writeFileSync(strangeKey, (await other.issue('localhost')).keyPem);
    const named = await authority.issue('localhost', { addresses: [] });
    server = await PostgresServer.start(
      { ssl: 'on', ssl_cert_file: 'tls.crt', ssl_key_file: 'tls.key' },
      { 'tls.crt': named.certPem, 'tls.key': named.keyPem },
    );
  });
  afterAll(async () => {
    await server.end();
    rmSync(folder, { recursive: true });
  });

  async function speaksTls(address: string): Promise<boolean> {
    const client = await connectUsable(address);
    const { rows } = await client.query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    await client.end();
    return rows[0].ssl;
  }

  it.each([
    ['', '127.0.0.1', true],
    ['?sslmode=prefer', '127.0.0.1', true],
    ['?sslmode=disable', '127.0.0.1', false],
    ['?sslmode=allow', '127.0.0.1', false],
    ['?sslmode=require', '127.0.0.1', true],
    ['?sslmode=verify-ca&sslrootcert=ROOT', '127.0.0.1', true],
    ['?sslmode=verify-full&sslrootcert=ROOT', 'localhost', true],
  ])('DATABASE_URL with "%s" connects to %s; the connection uses TLS: %s', async (query, host, tls) => {
    expect(await speaksTls(url(query.replace('ROOT', root), host))).toBe(tls);
  });

  it.each([
    [
      'verify-full without the authority',
      '?sslmode=verify-full',
      'localhost',
      /verifies the certificate.* sslrootcert/,
    ],
    [
      'verify-ca with another authority',
      '?sslmode=verify-ca&sslrootcert=FOREIGN',
      'localhost',
      /verifies the certificate/,
    ],
    ['require with another authority', '?sslmode=require&sslrootcert=FOREIGN', 'localhost', /verifies the certificate/],
    [
      'an invalid sslcert',
      '?sslmode=require&sslcert=NONE',
      'localhost',
      /ERR_OSSL\w+\) has an sslcert or sslkey that cannot be used/,
    ],
    [
      'an sslkey of another certificate',
      '?sslmode=require&sslcert=ROOT&sslkey=STRANGE',
      'localhost',
      /ERR_OSSL\w+\) has an sslcert or sslkey that cannot be used/,
    ],
    ['verify-full with another name', '?sslmode=verify-full&sslrootcert=ROOT', '127.0.0.1', /for another host/],
  ])('one line explains why the service cannot use its TLS settings: %s', async (_, query, host, expected) => {
    const files = { ROOT: root, FOREIGN: foreignRoot, NONE: noCertificate, STRANGE: strangeKey };
    const address = url(
      Object.entries(files).reduce((filled, [name, path]) => filled.replace(name, path), query),
      host,
    );
    const fault = await faultOf(address);
    expect(fault).toMatch(expected);
    expect(fault).not.toContain(server.secret);
  });
});
