import { randomBytes } from 'node:crypto';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import { UpdateUser } from '../../src/auth/auth.commands';
import { AccessGuard } from '../../src/auth/access.guard';
import { openApiDocument } from '../../src/openapi/document';
import { declaredRoutes } from '../../src/platform/http/documented-access';
import { SCOPES, type Scope } from '../../src/platform/context/caller';
import { startApp, type Answer, type TestApp } from '../support/app';
import { OAuth } from '../support/oauth';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

interface Route {
  method: string;
  template: string;
  scope: Scope;
  /** The scopes that the route accepts: a token needs only one of them. */
  scopes: Scope[];
}

/** Returns every route that the OpenAPI document marks as protected. */
function protectedRoutes(): Route[] {
  const { paths } = openApiDocument(app.app, app.config);
  return Object.entries(paths).flatMap(([template, item]) =>
    Object.entries(item as Record<string, { security?: { oauth2?: Scope[] }[] }>).flatMap(([method, operation]) => {
      const scopes = (operation.security ?? []).flatMap((entry) => entry.oauth2 ?? []);
      return scopes.length > 0 ? [{ method: method.toUpperCase(), template, scope: scopes[0], scopes }] : [];
    }),
  );
}

const fill = (template: string, account: string) =>
  template.replace('{account_code}', account).replaceAll(/\{[^}]+\}/g, 'AB2CD3EF');

/** Returns the response without the values that differ for each request. */
const comparable = ({ status, body, headers }: Answer) => {
  const { request_id, ...rest } = body as Record<string, unknown>;
  expect(request_id).toBe(headers.get('x-request-id'));
  return JSON.stringify([status, rest, headers.get('www-authenticate')]);
};

describe('every route of the OpenAPI document', () => {
  it('every route of the API requires exactly one scope, or is declared as open', () => {
    const routes = protectedRoutes();
    expect(routes.length).toBeGreaterThan(30);
    const open = declaredRoutes(app.app).filter(({ access }) => access === 'public' || access === 'client');
    expect(
      open.every(({ operationId }) =>
        /^(Token|Health|Problems|Launch|Jwks|Console|Guide|Llms|Look|Root|Schemas)/.test(operationId),
      ),
    ).toBe(true);
  });

  it('every route requires the scope that belongs to its path and method', () => {
    const expected = ({ method, template }: Route): Scope => {
      if (template.startsWith('/admin')) return 'admin';
      if (template.startsWith('/partner')) return 'partner';
      if (template === '/registrations/registration/results' || template === '/accounts/{account_code}')
        return 'results';
      if (template.endsWith('/testLaunchInfo')) return 'launch';
      if (template.includes('/bookings')) return 'bookings';
      return ({ GET: 'read', POST: 'create', PUT: 'update', DELETE: 'delete' } as Record<string, Scope>)[method];
    };
    for (const route of protectedRoutes())
      expect([route.method, route.template, route.scope]).toEqual([route.method, route.template, expected(route)]);
  });

  it('every route refuses a call without a token, or with a token that has all scopes except the required one', async () => {
    const account = await app.given.account();
    for (const { method, template, scope, scopes } of protectedRoutes()) {
      const path = fill(template, account);
      const nobody = await app.call(method, path);
      expect([template, nobody.status, nobody.body.code]).toEqual([template, 401, 'unauthorized']);
      expect(nobody.headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+"$/);

      const token = await app.given.token(
        [account],
        SCOPES.filter((held) => !scopes.includes(held)),
      );
      const refused = await app.call(method, path, { token });
      expect([template, refused.status, refused.body.code]).toEqual([template, 403, 'insufficient_scope']);
      expect(refused.headers.get('www-authenticate')).toMatch(
        new RegExp(`^Bearer realm="[^"]+", error="insufficient_scope", scope="${scope}"$`),
      );
    }
  });

  it('requests for an unknown account and for a forbidden account get byte-identical responses', async () => {
    const foreign = await app.given.account();
    const token = await app.given.token([await app.given.account()]);
    const routes = protectedRoutes().filter(
      ({ template, scope }) => template.includes('{account_code}') && scope !== 'admin',
    );
    expect(routes.length).toBeGreaterThan(8);
    for (const { method, template } of routes) {
      const answers: Answer[] = [];
      // The body is malformed on purpose. The response then shows that the service checks the account before it checks
      // the form of the request.
      const body = method === 'GET' || method === 'DELETE' ? undefined : '{';
      for (const account of [foreign, 'ZZZZZZZZZZZZ', 'x', '%00', '%27--', 'a%20b', '%F0%9F%92%A3'])
        answers.push(await app.call(method, fill(template, account), { token, body }));
      expect([template, answers[0].status, answers[0].body.code]).toEqual([template, 403, 'account_forbidden']);
      expect(new Set(answers.map(comparable)).size).toBe(1);
    }
  });
});

describe('the bearer token (RFC 6750)', () => {
  const path = '/admin/users';

  it('malformed, unknown, expired and revoked tokens get identical responses', async () => {
    const expired = await app.given.operator();
    await app.given.sql('UPDATE access_tokens SET expires_at = now()');
    const revoked = await app.given.operator();
    await app.given.sql('UPDATE token_families SET revoked_at = now()');
    const answers: Answer[] = [];
    for (const token of ['x', 'A'.repeat(43), 'a b', `${'A'.repeat(42)}%`, expired, revoked])
      answers.push(await app.call('GET', path, { token }));
    expect(answers[0].headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+", error="invalid_token"$/);
    expect(new Set(answers.map(comparable)).size).toBe(1);
    expect(answers[0].status).toBe(401);
  });

  it('the service reads the bearer token only from the Authorization header, and accepts Bearer in upper or lower case', async () => {
    const token = await app.given.operator();
    expect((await app.call('GET', path, { headers: { authorization: `bearer ${token}` } })).status).toBe(200);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const answer of [
      await app.call('GET', `${path}?access_token=${token}`),
      await app.call('POST', path, { body: `access_token=${token}`, headers: form }),
      await app.call('POST', path, { body: { access_token: token } }),
      await app.call('GET', path, { headers: { authorization: `Basic ${token}` } }),
      await app.call('GET', `${path}?access_token=${token}`, { headers: { authorization: 'Basic eDp5' } }),
      await app.call('GET', path, { headers: { authorization: 'Bearer' } }),
      await app.call('GET', path, { headers: { authorization: 'Bearer ' } }),
    ]) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).not.toContain('error');
    }
  });
});

describe('the accounts of a user', () => {
  it("a user's tokens lose access to a removed account at the next request, in every process", async () => {
    const other = await startApp({ databaseUrl: app.databaseUrl });
    try {
      const oauth = new OAuth(app);
      const login = await oauth.login();
      const { access_token } = await oauth.tokens(login);
      const elsewhere = new OAuth(other);
      expect((await elsewhere.knock(login, access_token)).status).toBe(404);
      await app.app.get(CommandBus, { strict: false }).execute(new UpdateUser(login.username, { accountCodes: [] }));
      expect((await elsewhere.knock(login, access_token)).status).toBe(401);
      const again = await oauth.tokens(login);
      expect((await elsewhere.knock(login, again.access_token)).body.code).toBe('account_forbidden');
      await oauth.commands.execute(new UpdateUser(login.username, { accountCodes: [login.account] }));
      expect((await elsewhere.knock(login, again.access_token)).status).toBe(404);
    } finally {
      await other.close();
    }
  });

  it("a token without the admin scope is limited to its user's accounts, even when the user has the admin scope", async () => {
    const account = await app.given.account();
    const oauth = new OAuth(app);
    const operator = await oauth.login({ scopes: SCOPES });
    const { access_token } = await oauth.tokens(operator, { scope: 'read' });
    const ask = (code: string) => app.call('GET', `/accounts/${code}/candidates/nobody`, { token: access_token });
    expect((await ask(account)).body.code).toBe('account_forbidden');
    expect((await ask('ZZZZZZZZZZZZ')).body.code).toBe('account_forbidden');
    expect((await ask(operator.account)).body.code).toBe('candidate_not_found');
  });

  it('a token with the admin scope has access to all accounts; a request for an unknown account gets 400', async () => {
    const account = await app.given.account();
    const oauth = new OAuth(app);
    const operator = await oauth.login({ scopes: SCOPES });
    const { access_token } = await oauth.tokens(operator, { scope: 'read admin' });
    const ask = (code: string) => app.call('GET', `/accounts/${code}/candidates/nobody`, { token: access_token });
    expect((await ask(account)).status).toBe(404);
    for (const code of ['ZZZZZZZZZZZZ', 'x', '%00', '%27', 'a%20b', '%F0%9F%92%A3', 'A'.repeat(2000)]) {
      const answer = await ask(code);
      expect([code, answer.status, answer.body.code]).toEqual([code, 400, 'account_not_found']);
    }
  });
});

it('the service limits the requests per minute of each application and user, and shows the limit in the RateLimit header', async () => {
  const limited = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '3' }, databaseUrl: app.databaseUrl });
  try {
    const token = await app.given.operator();
    const second = new Date().getSeconds();
    if (second > 55) await new Promise((resolve) => setTimeout(resolve, (61 - second) * 1000));
    const answers: Answer[] = [];
    for (let at = 0; at < 4; at++) answers.push(await limited.call('GET', '/admin/users', { token }));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 429]);
    expect(answers[0].headers.get('ratelimit')).toMatch(/^"default";r=2;t=\d+$/);
    expect(answers[3].body.code).toBe('rate_limited');
    expect(Number(answers[3].headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await limited.call('GET', '/admin/users', { token: await app.given.operator() })).status).toBe(200);
  } finally {
    await limited.close();
  }
});

it('a route that declares no scope answers every request with 500, instead of letting the caller in', async () => {
  @Controller('silent')
  class SilentController {
    @Get()
    ask(): string {
      return 'let in';
    }
  }

  @Module({ controllers: [SilentController] })
  class SilentModule {}

  const silent = await NestFactory.create(SilentModule, { logger: false });
  silent.useGlobalGuards(app.app.get(AccessGuard, { strict: false }));
  await silent.listen(0, '127.0.0.1');
  try {
    expect((await fetch(`${await silent.getUrl()}/silent`)).status).toBe(500);
  } finally {
    await silent.close();
  }
});

it('two instances of the service in one process each use their own database', async () => {
  const other = await startApp({ env: { SECRETS_KEY: randomBytes(32).toString('base64') } });
  try {
    const token = await app.given.operator();
    expect((await app.call('GET', '/admin/users', { token })).status).toBe(200);
    expect((await other.call('GET', '/admin/users', { token })).status).toBe(401);
  } finally {
    await other.close();
  }
  expect((await app.call('GET', '/admin/users', { token: await app.given.operator() })).status).toBe(200);
});
