import type { OidcSettings } from '../oidc.config';
import { accountsNamedBy, groupsIn, rightsOf } from './operator-rights';

const settings: OidcSettings = {
  issuer: new URL('https://id.example'),
  clientId: 'console',
  clientSecret: 'secret',
  groupsClaim: 'groups',
  adminGroup: 'exam-admins',
  supportGroupPrefix: 'exam-support-',
};

test.each([
  [['exam-admins'], ['admin'], []],
  [['exam-support-ACME', 'exam-support-ACME', 'exam-support-GONE', 'other'], ['support'], ['ACME']],
  [['exam-admins', 'exam-support-ACME'], ['admin', 'support'], ['ACME']],
])('the identity provider’s groups %j grant the scopes %j, for the accounts %j', (groups, scopes, accountCodes) => {
  expect(rightsOf(groups, ['ACME', 'OTHER'], settings)).toEqual({ scopes, accountCodes });
});

test.each([[[]], [['exam-admin']], [['EXAM-ADMINS']], [['exam-support-']], [['exam-support-GONE']]])(
  'the identity provider’s groups %j grant no scopes',
  (groups) => expect(rightsOf(groups, ['ACME'], settings)).toBeNull(),
);

test('an omitted group setting grants no rights', () => {
  const none = { ...settings, adminGroup: null, supportGroupPrefix: null };
  expect(rightsOf(['null', 'exam-admins', 'ACME'], ['ACME'], none)).toBeNull();
  expect(accountsNamedBy(['ACME'], none)).toEqual([]);
});

test("reads a user's groups from a claim that contains a list or a single name, and treats a missing claim as no groups", () => {
  expect(groupsIn({ groups: ['a', 'b'] }, 'groups')).toEqual(['a', 'b']);
  expect(groupsIn({ groups: 'a' }, 'groups')).toEqual(['a']);
  expect(groupsIn({ groups: [] }, 'groups')).toEqual([]);
  expect(groupsIn({ groups: null }, 'groups')).toEqual([]);
  expect(groupsIn({ groups: ['a'] }, 'roles')).toEqual([]);
  expect(groupsIn({ groups: ['a'], _claim_names: { groups: 'src1' } }, 'groups')).toEqual(['a']);
  expect(groupsIn({ _claim_names: { address: 'src1' } }, 'groups')).toEqual([]);
});

test.each([
  [{ _claim_names: { groups: 'src1' } }],
  [{ hasgroups: true }],
  [{ hasgroups: 'true' }],
  [{ groups: ['a', 7] }],
  [{ groups: [{ name: 'a' }] }],
  [{ groups: 7 }],
  [{ groups: { a: true } }],
])('reports the groups of a user as unknown, not as empty, for the claims %j', (claims) =>
  expect(groupsIn(claims, 'groups')).toBeNull(),
);

test.each(['exam-support-A\u0000B', 'exam-support-A B', `exam-support-${'A'.repeat(65)}`])(
  'the group name %j contains no valid account code',
  (group) => expect(accountsNamedBy([group], settings)).toEqual([]),
);
