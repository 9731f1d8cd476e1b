import { parseDatabaseUrl } from './database-url.js';

describe('DATABASE_URL', () => {
  it('reads host, port, user, password and database from a DATABASE_URL with a single server', () => {
    expect(parseDatabaseUrl('postgres://ada:s%40cret%3A@db.example:6432/main%20one')).toMatchObject({
      hosts: [{ host: 'db.example', port: 6432 }],
      user: 'ada',
      password: 's@cret:',
      database: 'main one',
      sslMode: 'prefer',
      readWriteOnly: false,
    });
  });

  it.each([
    [
      'postgresql://a,b:6432,[::1]:7000/db',
      [
        ['a', 5432],
        ['b', 6432],
        ['::1', 7000],
      ],
    ],
    [
      'postgres:///db?host=a,b&port=6432',
      [
        ['a', 6432],
        ['b', 6432],
      ],
    ],
    [
      'postgres:///db?host=a,b&port=1,2',
      [
        ['a', 1],
        ['b', 2],
      ],
    ],
    ['postgres:///db', [['localhost', 5432]]],
    ['postgres:///db?host=/run/postgresql', [['/run/postgresql', 5432]]],
    ['postgres://%2Frun%2Fpostgresql/db', [['/run/postgresql', 5432]]],
  ])('reads the hosts and ports of the database servers from %s', (url, hosts) => {
    expect(parseDatabaseUrl(url).hosts.map(({ host, port }) => [host, port])).toEqual(hosts);
  });

  it('connects only to a writable server if DATABASE_URL lists several servers or asks for a writable server', () => {
    expect(parseDatabaseUrl('postgres://a,b/db').readWriteOnly).toBe(true);
    expect(parseDatabaseUrl('postgres://a/db?target_session_attrs=read-write').readWriteOnly).toBe(true);
  });

  it('reads session settings from the "options" parameter of DATABASE_URL', () => {
    const url = `postgres://a/db?options=${encodeURIComponent('-c search_path=b,public --work-mem=8MB -capplication_name=a\\ b')}`;
    expect(parseDatabaseUrl(url).settings).toEqual({
      search_path: 'b,public',
      work_mem: '8MB',
      application_name: 'a b',
    });
  });

  it('uses no TLS for a connection over a Unix socket', () => {
    expect(parseDatabaseUrl('postgres:///db?host=/run/postgresql&sslmode=require').sslMode).toBe('disable');
  });

  it.each([
    ['http://a/db', /^must be a postgres/],
    ['postgres://a:0/db', /^must have ports/],
    ['postgres://a/db?target_session_attr=read-write', /does not know: target_session_attr$/],
    ['postgres://a/db?target_session_attrs=read-only', /the service writes/],
    ['postgres://a/db?sslmode=full', /^must have one of disable, /],
    ['postgres://a/db?sslrootcert=/not/there', /cannot be read as its sslrootcert$/],
    ['postgres://a:%zz@b/db', /percent-encoded/],
    ['postgres://a/db?options=fast', /options of the form/],
  ])('refuses the DATABASE_URL %s', (url, message) => {
    expect(() => parseDatabaseUrl(url)).toThrow(message);
  });
});
