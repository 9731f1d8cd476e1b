import type { OidcSettings } from '../oidc-settings';
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
])('the groups %j give %j for %j', (groups, scopes, accountCodes) => {
  expect(rightsOf(groups, ['ACME', 'OTHER'], settings)).toEqual({ scopes, accountCodes });
});

test.each([[[]], [['exam-admin']], [['EXAM-ADMINS']], [['exam-support-']], [['exam-support-GONE']]])(
  'the groups %j give nothing',
  (groups) => expect(rightsOf(groups, ['ACME'], settings)).toBeNull(),
);

test('a setting that is left out gives nobody anything', () => {
  const none = { ...settings, adminGroup: null, supportGroupPrefix: null };
  expect(rightsOf(['null', 'exam-admins', 'ACME'], ['ACME'], none)).toBeNull();
  expect(accountsNamedBy(['ACME'], none)).toEqual([]);
});

test('groups come as a list or as one name', () => {
  expect(groupsIn(['a', 7, null, 'b'])).toEqual(['a', 'b']);
  expect(groupsIn('a')).toEqual(['a']);
  expect(groupsIn(undefined)).toEqual([]);
});
