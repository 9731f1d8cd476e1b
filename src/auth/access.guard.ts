import { Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { QueryBus } from '@nestjs/cqrs';
import { AuthGuard } from '@nestjs/passport';
import type { Request, Response } from 'express';
import { Database, prepared } from '../platform/database/database.js';
import { accountForbidden, accountNotFound } from '../platform/errors.js';
import { allowedAccountsOf, type Caller, type PartnerAccess } from '../platform/context/caller.js';
import { ACCESS, type AccessRule } from '../platform/http/access.js';
import { lacking, unauthenticated } from '../platform/http/challenge.js';
import { heardCaller } from '../platform/overload/read-share.js';
import { RateLimit } from '../platform/overload/rate-limit.js';
import { assertMayUse } from '../platform/account-access.js';
import { FindKnownSubscriptions } from '../platform/known-subscriptions.js';
import { requestContext } from '../platform/context/request-context.js';
import { AccessTokenLookup } from './tokens/access-token-lookup.js';
import { ACCOUNT_CODE } from './tokens/account-code.js';
import type { BearerRequest } from './tokens/bearer.strategy.js';
import { CONSOLE_KEY, Sessions } from './sessions/sessions.js';

const ACCOUNT_EXISTS = prepared('access-account-exists', `SELECT 1 FROM accounts WHERE account_code = $1`);

/**
 * Guards every route. It checks the token (401), the rate limit (429), the scope (403) and the account (403), in this
 * order. The guard runs before the body is read, and stores the caller in the request's context.
 */
@Injectable()
export class AccessGuard extends AuthGuard('bearer') {
  constructor(
    private readonly reflector: Reflector,
    private readonly lookup: AccessTokenLookup,
    private readonly sessions: Sessions,
    private readonly rateLimit: RateLimit,
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (rule === undefined)
      throw new Error(`${context.getClass().name}.${context.getHandler().name} declares no @Access.`);
    if (rule === 'public' || rule === 'client') return true;

    const request = context.switchToHttp().getRequest<Request>();
    // The caller is authenticated by the token or, without a token, by a console session. For a token, AuthGuard asks
    // Passport and passes the result to handleRequest.
    if (request.headers.authorization !== undefined) await super.canActivate(context);
    else requestContext().caller = await this.sessions.callerOf(request);
    const { caller } = requestContext();
    if (caller === null) throw unauthenticated(request);

    this.rateLimit.count(caller, context.switchToHttp().getResponse<Response>());

    if (!rule.some((scope) => caller.scopes.has(scope))) throw lacking(rule[0]);

    const filtered = request.query['account_code'];
    // If the `account_code` query parameter is repeated, the guard checks the caller's access to each of the values.
    // The repetition itself is refused later, when all parameters are validated.
    if (rule.includes('support'))
      for (const named of [filtered].flat())
        if (typeof named === 'string') assertMayUse(allowedAccountsOf(caller), named);

    const accountCode = request.params['account_code'];
    if (typeof accountCode === 'string') {
      await this.assertAccount(caller, accountCode);
      requestContext().accountCode = accountCode;
    }
    if (rule.includes('partner')) requestContext().partnerAccess = await this.accessOf(caller);
    heardCaller();
    return true;
  }

  /**
   * Returns the object from which Passport reads the token. Passport does not get the whole request, because Passport
   * would also accept a token in the query or body.
   */
  override getRequest(context: ExecutionContext): BearerRequest {
    return { headers: context.switchToHttp().getRequest<Request>().headers, lookup: this.lookup };
  }

  /**
   * Stores the caller that Passport has found for a token. The token of a console session is refused as a bearer token,
   * because it is valid only in the session's cookie.
   */
  override handleRequest<User = Caller | false>(error: Error | null, user: User & (Caller | false)): User {
    if (error !== null) throw error;
    requestContext().caller = user && user.consumerKey !== CONSOLE_KEY ? user : null;
    return user;
  }

  /** Returns those of the caller's subscriptions that are not deleted, with their accounts. */
  private async accessOf({ subscriptionIds }: Caller): Promise<PartnerAccess> {
    const known = await this.queryBus.execute(new FindKnownSubscriptions([...subscriptionIds]));
    return {
      accountCodes: [...new Set(known.map(({ account_code }) => account_code))],
      subscriptionIds: known.map(({ id }) => id),
    };
  }

  private async assertAccount(caller: Caller, accountCode: string): Promise<void> {
    if (caller.accountCodes.has(accountCode)) return;
    if (!caller.isOperator) throw accountForbidden.error();
    const exists =
      ACCOUNT_CODE.test(accountCode) && (await this.database.queryOne(ACCOUNT_EXISTS, [accountCode])) !== null;
    if (!exists)
      throw accountNotFound.error({
        errors: [{ parameter: 'account_code', code: 'account_not_found', detail: 'No account has this code.' }],
      });
  }
}
