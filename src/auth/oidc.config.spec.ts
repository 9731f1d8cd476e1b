import { oidcSettings } from './oidc.config';

function read(env: Record<string, string>) {
  const faults: string[] = [];
  const settings = oidcSettings({
    raw: (name) => env[name],
    fault: (name, what) => faults.push(`${name} ${what}`),
  });
  return { settings, faults };
}

const ALL = {
  OIDC_ISSUER: 'https://id.example/realms/exams',
  OIDC_CLIENT_ID: 'console',
  OIDC_CLIENT_SECRET: 'secret',
  OIDC_ADMIN_GROUP: 'admins',
};

test('without OIDC settings, operators cannot sign in through an identity provider', () => {
  expect(read({})).toEqual({ settings: null, faults: [] });
});

test('the groups of a user are read from the `groups` claim, unless a setting names another claim', () => {
  const { settings, faults } = read(ALL);
  expect(faults).toEqual([]);
  expect(settings).toMatchObject({ groupsClaim: 'groups', adminGroup: 'admins', supportGroupPrefix: null });
  expect(read({ ...ALL, OIDC_GROUPS_CLAIM: 'roles' }).settings?.groupsClaim).toBe('roles');
});

test('an identity provider may have an http address only if the provider runs on this machine', () => {
  for (const issuer of ['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080'])
    expect(read({ ...ALL, OIDC_ISSUER: issuer }).faults).toEqual([]);
  for (const issuer of ['http://id.example', 'https://id.example?x=1', 'id.example', 'http://localhost.example'])
    expect(read({ ...ALL, OIDC_ISSUER: issuer }).faults).toEqual([
      'OIDC_ISSUER must be an https URL without query and fragment',
    ]);
});

test('an incomplete OIDC configuration is refused with an error that names each missing setting', () => {
  expect(read({ OIDC_ISSUER: 'https://id.example' }).faults.map((fault) => fault.split(' ')[0])).toEqual([
    'OIDC_CLIENT_ID',
    'OIDC_CLIENT_SECRET',
    'OIDC_ADMIN_GROUP',
  ]);
  expect(read({ OIDC_CLIENT_SECRET: 'secret' }).faults).toEqual([
    'OIDC_CLIENT_SECRET is of no use without OIDC_ISSUER',
  ]);
});
