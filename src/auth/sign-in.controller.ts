import { Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../config.js';
import type { OidcSettings } from '../oidc-settings.js';
import { notFound } from '../platform/errors.js';
import { FindKnownAccounts } from '../platform/known-accounts.js';
import { Access } from '../platform/http/access.js';
import { PublicProblems } from '../platform/http/documented.js';
import { Logger } from '../platform/observability/logger.js';
import { IdentityProvider, SIGN_IN_S, SignInDenied, UnknownAttempt, type SignedIn } from './identity-provider.js';
import { OperatorIdentities } from './operator-identities.js';
import { accountsNamedBy, rightsOf } from './operator-rights.js';
import { ConsoleCookies } from './session-cookie.js';
import { Sessions } from './sessions.js';
import { sendSignInPage } from './sign-in-page.js';

const COOKIE = 'console-sign-in';

const AnswerPage = (status: number, description: string) =>
  ApiResponse({ status, description, content: { 'text/html': { schema: { type: 'string' } } } });

/** Operators sign in at their organisation; see {@link IdentityProvider} for the protocol. A person looks at the answers. */
@ApiTags('Console')
@Controller('console/sign-in')
@Access('public')
export class ConsoleSignInController {
  constructor(
    private readonly config: Config,
    private readonly provider: IdentityProvider,
    private readonly identities: OperatorIdentities,
    private readonly sessions: Sessions,
    private readonly cookies: ConsoleCookies,
    private readonly queries: QueryBus,
    private readonly logger: Logger,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Sign in at the organisation: leads the browser to its identity provider' })
  @ApiResponse({ status: 303, description: 'To the identity provider.' })
  @AnswerPage(502, 'The identity provider does not answer.')
  @PublicProblems(404)
  async begin(@Res() response: Response): Promise<void> {
    this.settings();
    try {
      const { address, attempt } = await this.provider.begin();
      // Lax: it must come along when the provider sends the browser back.
      this.cookies.set(response, COOKIE, attempt, 'lax', SIGN_IN_S);
      response.redirect(303, address.href);
    } catch (error) {
      this.refuse(response, error);
    }
  }

  @Get('callback')
  @ApiOperation({ summary: 'Where the identity provider sends the browser back to' })
  @ApiResponse({ status: 303, description: 'Signed in; to the console.' })
  @AnswerPage(400, 'The sign-in was not begun in this browser, or too long ago.')
  @AnswerPage(403, 'No group of the operator lets them in here, or the provider refused.')
  @AnswerPage(502, 'The identity provider did not answer as it should.')
  @PublicProblems(404)
  async finish(@Req() request: Request, @Res() response: Response): Promise<void> {
    const settings = this.settings();
    const kept = this.cookies.read(request, COOKIE);
    this.cookies.clear(response, COOKIE);
    const { search } = new URL(request.originalUrl, 'http://localhost');
    const signedIn = await this.provider.finish(kept, search).catch((error: unknown) => {
      this.refuse(response, error);
      return null;
    });
    if (signedIn === null) return;
    if (await this.admit(signedIn, settings, request, response))
      response.redirect(303, `${this.config.baseUrl}/console`);
    else
      sendSignInPage(
        response,
        403,
        'You may not work here',
        'Your organisation knows you, but none of your groups gives you access to this service. Ask who looks after it.',
      );
  }

  private async admit(
    { identity, groups }: SignedIn,
    settings: OidcSettings,
    request: Request,
    response: Response,
  ): Promise<boolean> {
    const known = await this.queries.execute(new FindKnownAccounts(accountsNamedBy(groups, settings)));
    const rights = rightsOf(groups, known, settings);
    if (rights === null) {
      await this.identities.withdraw(identity);
      return false;
    }
    const user = await this.identities.admit(identity, rights);
    return user !== null && (await this.sessions.start(request, response, user));
  }

  private settings(): OidcSettings {
    const { settings } = this.provider;
    if (settings === null) throw notFound.error();
    return settings;
  }

  private refuse(response: Response, error: unknown): void {
    if (error instanceof UnknownAttempt)
      sendSignInPage(
        response,
        400,
        'Please sign in again',
        'This sign-in was not begun in this browser, or it took too long.',
      );
    else if (error instanceof SignInDenied)
      sendSignInPage(response, 403, 'You were not signed in', 'Your organisation did not sign you in.');
    else {
      this.logger.warn({ err: error }, 'the identity provider did not answer as it should');
      sendSignInPage(
        response,
        502,
        'Your organisation cannot be reached',
        'Its identity provider did not answer as it should. Try again in a while.',
      );
    }
  }
}
