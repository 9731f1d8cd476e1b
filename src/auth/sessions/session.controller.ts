import { applyDecorators, Body, Controller, Delete, Get, Post, Query, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiHeader, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AuthConfig } from '../auth.config.js';
import { defineProblem, rateLimited } from '../../platform/errors.js';
import { Access } from '../../platform/http/access.js';
import { networkOf } from '../../platform/overload/address.js';
import { Answer, AnswerEmpty, PublicProblems } from '../../platform/http/documented.js';
import { FindAccountNames } from '../../platform/known-accounts.js';
import { Logger } from '../../platform/observability/logger.js';
import { IdentityProvider } from './identity-provider.js';
import { Login } from '../tokens/login.js';
import { OperatorIdentities } from '../administration/operator-identities.js';
import { Pseudonyms } from '../tokens/pseudonyms.js';
import { CONSOLE_REQUEST, isFromConsole } from './session-cookie.js';
import { SessionState, SignedOut, SignInBody, SignOutQuery } from './session.dto.js';
import { mayUseConsole } from '../tokens/scope.rules.js';
import { CONSOLE_KEY, Sessions } from './sessions.js';
import { OAuthError } from '../tokens/token.errors.js';
import { TokenRefusals } from '../tokens/token-refusals.js';
import { TokenRequestLimit } from '../tokens/token-request-limit.js';

/**
 * The problem for every refused sign-in. Its cause is a wrong password, or a user who is unknown, disabled, locked or
 * not allowed to use the console.
 */
const signInRefused = defineProblem(
  'sign_in_refused',
  'forbidden',
  'The sign-in was refused',
  'The user name or the password is wrong, or this user is not allowed to sign in with a password.',
);
const notTheConsole = defineProblem(
  'not_the_console',
  'forbidden',
  'Only the console may send this request',
  `The request was not sent by a page of the console: the header ${CONSOLE_REQUEST} is missing, or another site sent the request.`,
);

function tooManyGuesses(seconds: number): Error {
  const minutes = Math.ceil(seconds / 60);
  return rateLimited.error({
    detail: `There were too many wrong passwords for this user name. Please be patient, and try again in ${minutes} min.`,
    headers: { 'Retry-After': String(seconds) },
  });
}

/** Documents the header that every call in a console session needs. */
const FromConsole = () =>
  ApiHeader({
    name: CONSOLE_REQUEST,
    required: true,
    schema: { type: 'string', enum: ['1'] },
    example: '1',
    description: 'The value is `1`. Pages of other sites cannot send this header.',
  });

/** Documents a route that ends one session of the user, or all sessions. */
const SignsOut = (summary: string) =>
  applyDecorators(
    FromConsole(),
    ApiOperation({ summary }),
    Answer(
      200,
      SignedOut,
      'The user is signed out. The response has the sign-out address that `organisation=true` asked for.',
    ),
    AnswerEmpty(204, 'The user is signed out, or no user was signed in.'),
    PublicProblems(400),
  );

/**
 * Serves operators' sessions in the console. Every other route accepts a session instead of a token. The request must
 * have the session's cookie and the `Console-Request: 1` header, and no `Authorization` header.
 */
@ApiTags('Console')
@Controller('console')
@Access('public')
export class ConsoleSessionController {
  constructor(
    private readonly config: AuthConfig,
    private readonly sessions: Sessions,
    private readonly login: Login,
    private readonly limit: TokenRequestLimit,
    private readonly refusals: TokenRefusals,
    private readonly pseudonyms: Pseudonyms,
    private readonly provider: IdentityProvider,
    private readonly identities: OperatorIdentities,
    private readonly logger: Logger,
    private readonly queries: QueryBus,
  ) {}

  @Get('session')
  @FromConsole()
  @ApiOperation({ summary: 'Read the signed-in user and the available ways to sign in' })
  @Answer(200, SessionState)
  @PublicProblems()
  async get(@Req() request: Request): Promise<SessionState> {
    const session = await this.sessions.view(request);
    return {
      session: session && {
        ...session,
        accounts: [...(await this.queries.execute(new FindAccountNames(session.account_codes)))],
        organisation: await this.isOfOrganisation(session.username),
      },
      sign_in: { password: this.config.operatorPasswords, organisation: this.config.oidc !== null },
    };
  }

  @Post('session')
  @FromConsole()
  @ApiOperation({ summary: 'Sign in to the console with user name and password' })
  @AnswerEmpty(204, 'Signed in.')
  @PublicProblems(400, 403, 408, 413, 415)
  async signIn(
    @Body() { username, password }: SignInBody,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    // The `Console-Request` header is required. Without this check, another site could sign its visitor in as a user of
    // the site's choice.
    if (!isFromConsole(request)) throw notTheConsole.error();
    const network = networkOf(request);
    await this.limit.count(network, response).catch((error: unknown) => {
      throw error instanceof OAuthError ? rateLimited.error({ headers: error.headers }) : error;
    });
    // At the console's sign-in form, a lock-out applies to one address only. The form is public, and wrong guesses from
    // one address must not lock out people at other addresses.
    const from = this.pseudonyms.of('address', network).toString('hex');
    const { user, patienceS } = await this.login.verify({
      username,
      password,
      application: CONSOLE_KEY,
      within: `${CONSOLE_KEY} ${from}`,
      flow: { group: CONSOLE_KEY, member: network },
    });
    if (
      user &&
      mayUseConsole(user.scopes) &&
      (await this.sessions.start(request, response, user, { byPassword: true }))
    )
      return;
    await this.refusals.count(CONSOLE_KEY, network, username);
    throw patienceS === null ? signInRefused.error() : tooManyGuesses(patienceS);
  }

  @Delete('session')
  @SignsOut('Sign out of this session')
  signOut(@Query() query: SignOutQuery, @Req() request: Request): Promise<SignedOut | undefined> {
    return this.end(request, query, false);
  }

  @Delete('sessions')
  @SignsOut('Sign out of all console sessions of the user')
  signOutEverywhere(@Query() query: SignOutQuery, @Req() request: Request): Promise<SignedOut | undefined> {
    return this.end(request, query, true);
  }

  private async end(
    request: Request,
    { organisation }: SignOutQuery,
    everywhere: boolean,
  ): Promise<SignedOut | undefined> {
    const response = request.res!;
    const username = await this.sessions.end(request, response, everywhere);
    if (organisation !== 'true') return undefined;
    response.status(200);
    return { organisation: username === null ? null : await this.organisationOf(username) };
  }

  /**
   * Returns the address at which the user signs out at the identity provider; null if the identity provider cannot be
   * reached. The session in this service ends in any case.
   */
  private async organisationOf(username: string): Promise<string | null> {
    if (!(await this.isOfOrganisation(username))) return null;
    const address = await this.provider.signOutAddress().catch((error: unknown) => {
      this.logger.warn({ err: error }, 'the identity provider did not answer correctly');
      return null;
    });
    return address?.href ?? null;
  }

  private async isOfOrganisation(username: string): Promise<boolean> {
    return this.config.oidc !== null && (await this.identities.areOf(username));
  }
}
