import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Caller } from '../../platform/context/caller.js';
import type { AccessTokenLookup } from './access-token-lookup.js';

/**
 * The part of a request that Passport may read.
 *
 * The query and the body are left out, because the strategy would also accept a token in them (RFC 6750 §2.2, §2.3).
 * The token lookup is added, because all Nest applications in a process share Passport's list of strategies, but each
 * application has its own lookup.
 */
export interface BearerRequest {
  headers: IncomingHttpHeaders;
  lookup: AccessTokenLookup;
}

/** Validates bearer tokens (RFC 6750) for Passport, and returns their callers. The access guard builds the refusals. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** Returns the caller of the token to Passport; false for an invalid token. */
  async validate({ lookup }: BearerRequest, token: string): Promise<Caller | false> {
    return (await lookup.find(token)) ?? false;
  }
}
