import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Caller } from '../../platform/context/caller.js';
import type { AccessTokenLookup } from './access-token-lookup.js';

/**
 * The part of a request that Passport reads.
 *
 * It has only the headers: from a whole request, the strategy would also accept a token in query and body (RFC 6750
 * §2.2, §2.3). It carries the lookup of its own application, since Passport shares one list of strategies in a process.
 */
export interface BearerRequest {
  headers: IncomingHttpHeaders;
  lookup: AccessTokenLookup;
}

/** Validates RFC 6750 bearer tokens for Passport and returns their callers. The guard builds the refusals. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** Called by Passport; returns false for an invalid token. */
  async validate({ lookup }: BearerRequest, token: string): Promise<Caller | false> {
    return (await lookup.find(token)) ?? false;
  }
}
