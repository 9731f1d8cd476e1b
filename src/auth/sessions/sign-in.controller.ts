import { Controller, Get, Req, Res } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { HttpConfig } from '../../platform/http/http.config.js';
import type { OidcSettings } from '../oidc.config.js';
import { DomainError, notFound } from '../../platform/errors.js';
import { FindKnownAccounts } from '../../platform/known-accounts.js';
import { Access } from '../../platform/http/access.js';
import { PAGE, PublicProblems } from '../../platform/http/documented.js';
import { Logger } from '../../platform/observability/logger.js';
import { sha256 } from '../../platform/secrets.js';
import {
  GroupsUnknown,
  IdentityProvider,
  SIGN_IN_S,
  SignInDenied,
  UnknownAttempt,
  type SignedIn,
} from './identity-provider.js';
import { OperatorIdentities } from '../administration/operator-identities.js';
import { accountsNamedBy, rightsOf } from '../tokens/operator-rights.js';
import { ConsoleCookies } from './session-cookie.js';
import { Sessions } from './sessions.js';
import { sendSignInPage } from './sign-in-page.js';
import { lastOperator } from '../administration/user-rights.js';

/**
 * The prefix of the names of the cookies for unfinished sign-ins. Each sign-in has its own cookie, so that sign-ins in
 * two tabs do not interfere.
 */
const COOKIE = 'console-sign-in-';
/**
 * The maximum number of unfinished sign-ins in a browser. Each sign-in has a cookie, and the size of request headers is
 * limited.
 */
const MOST_BEGUN = 5;

function cookieOf(state: string): string {
  return COOKIE + sha256(state).toString('hex').slice(0, 16);
}

const AnswerPage = (status: number, description: string) =>
  ApiResponse({ status, description, content: { 'text/html': { schema: PAGE } } });

/**
 * Signs operators in at their organisation's identity provider; see {@link IdentityProvider} for the protocol. The
 * responses are HTML pages for people.
 */
@ApiTags('Console')
@Controller('console/sign-in')
@Access('public')
export class ConsoleSignInController {
  constructor(
    private readonly config: HttpConfig,
    private readonly provider: IdentityProvider,
    private readonly identities: OperatorIdentities,
    private readonly sessions: Sessions,
    private readonly cookies: ConsoleCookies,
    private readonly queries: QueryBus,
    private readonly logger: Logger,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Redirect the browser to the identity provider of the organisation' })
  @ApiResponse({ status: 303, description: 'A redirect to the identity provider.' })
  @AnswerPage(502, 'The identity provider does not answer.')
  @PublicProblems(404)
  async begin(@Req() request: Request, @Res() response: Response): Promise<void> {
    this.settings();
    try {
      const { address, state, attempt } = await this.provider.begin();
      for (const name of this.cookies.namesWith(request, COOKIE).slice(0, -(MOST_BEGUN - 1)))
        this.cookies.clear(response, name);
      // The cookie has `SameSite=Lax`, because the browser must send it when the provider redirects the browser back to
      // the service.
      this.cookies.set(response, cookieOf(state), attempt, 'lax', SIGN_IN_S);
      response.redirect(303, address.href);
    } catch (error) {
      this.refuse(response, error);
    }
  }

  @Get('callback')
  @ApiOperation({ summary: 'Complete the sign-in at the identity provider' })
  @ApiResponse({ status: 303, description: 'The user is signed in and redirected to the console.' })
  @AnswerPage(400, 'The sign-in was started in another browser, was started too long ago, or is already finished.')
  @AnswerPage(
    403,
    'No group of the operator grants access, the provider did not send the groups, or the provider refused the sign-in.',
  )
  @AnswerPage(409, 'The last operator would lose the scope `admin`. Nothing was changed.')
  @AnswerPage(502, 'The identity provider did not answer, or its answer was not valid.')
  @PublicProblems(404)
  async finish(@Req() request: Request, @Res() response: Response): Promise<void> {
    const settings = this.settings();
    const { search, searchParams } = new URL(request.originalUrl, 'http://localhost');
    const cookie = cookieOf(searchParams.get('state') ?? '');
    const kept = this.cookies.read(request, cookie);
    this.cookies.clear(response, cookie);
    const signedIn = await this.provider.finish(kept, search).catch((error: unknown) => {
      this.refuse(response, error);
      return null;
    });
    if (signedIn === null) return;
    try {
      if (await this.admit(signedIn, settings, request, response))
        return response.redirect(303, `${this.config.baseUrl}/console`);
    } catch (error) {
      if (error instanceof DomainError && error.problem === lastOperator) return this.keepLastOperator(response);
      throw error;
    }
    this.send(
      response,
      403,
      'You have no access',
      'Your organisation has confirmed your identity, but none of your groups gives you access to this service. Ask an administrator of your organisation.',
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
    return user !== null && (await this.sessions.start(request, response, user, { byPassword: false }));
  }

  /**
   * Sends a page to the last operator, to whom no group grants `admin` any more. The page says that another user must
   * get `admin` first. Until then, the last operator keeps all rights.
   */
  private keepLastOperator(response: Response): void {
    this.logger.warn(
      {},
      'no group gives the scope admin to the last operator any more: the sign-in was refused, and nothing was changed',
    );
    this.send(
      response,
      409,
      'You are the last operator',
      'None of your groups makes you an operator any more, and the service would be left without one. Another member of the operators’ group must sign in first.',
    );
  }

  private send(response: Response, status: number, title: string, advice: string): void {
    sendSignInPage(response, status, title, advice, this.config.baseUrl);
  }

  private settings(): OidcSettings {
    const { settings } = this.provider;
    if (settings === null) throw notFound.error();
    return settings;
  }

  private refuse(response: Response, error: unknown): void {
    if (error instanceof UnknownAttempt)
      this.send(
        response,
        400,
        'Please sign in again',
        'This sign-in was started in another browser, took too long, or is already finished.',
      );
    else if (error instanceof GroupsUnknown)
      this.send(
        response,
        403,
        'Your groups are not known',
        'Your organisation did not send your groups to this service, possibly because there are too many. You were not signed in, and your rights are unchanged. Ask an administrator of your organisation to send only the groups of this service.',
      );
    else if (error instanceof SignInDenied)
      this.send(response, 403, 'You were not signed in', 'Your organisation did not sign you in.');
    else {
      this.logger.warn({ err: error }, 'the identity provider did not answer correctly');
      this.send(
        response,
        502,
        'Your organisation cannot be reached',
        'Its identity provider did not answer correctly. Try again in some minutes.',
      );
    }
  }
}
