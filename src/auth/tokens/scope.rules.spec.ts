import { grantedScopes } from './scope.rules.js';

describe('grantedScopes', () => {
  const user = ['update', 'read', 'admin'] as const;
  const application = ['read', 'update', 'create'] as const;

  it('when no scope is requested, grants every scope that the user and the application share, in sorted order', () => {
    expect(grantedScopes(undefined, application, user)).toEqual(['read', 'update']);
  });

  it('grants exactly the requested scopes, sorted and without duplicates', () => {
    expect(grantedScopes('update read update', application, user)).toEqual(['read', 'update']);
    expect(grantedScopes('read', application, user)).toEqual(['read']);
  });

  it.each([
    ['a scope that the user lacks', 'read create'],
    ['a scope that the application lacks', 'admin'],
    ['an unknown scope', 'read openid'],
    ['another case', 'READ'],
    ['two spaces', 'read  update'],
    ['a leading space', ' read'],
    ['a trailing space', 'read '],
    ['another separator', 'read,update'],
    ['a character outside of the grammar', 'read "update"'],
    ['a name of Object.prototype', 'constructor'],
  ])('grants no scope at all when the request contains %s', (_what, asked) => {
    expect(grantedScopes(asked, application, user)).toBeNull();
  });

  it('grants no scope when the user and the application have no scope in common', () => {
    expect(grantedScopes(undefined, ['read'], ['update'])).toBeNull();
    expect(grantedScopes(undefined, [], ['update'])).toBeNull();
  });
});
