import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import type { Caller } from '../../platform/context/caller.js';
import type { AccessTokenLookup } from './access-token-lookup.js';

/**
 * The part of a request that Passport reads.
 *
 * It has the headers alone: from a whole request the strategy would also take a token in query and body (RFC 6750 §2.2, §2.3).
 * It has the lookup of its own application, since Passport keeps one list of strategies for the whole process.
 */
export interface BearerRequest {
  headers: IncomingHttpHeaders;
  lookup: AccessTokenLookup;
}

/** RFC 6750 bearer tokens for Passport: a token in, its caller out. The guard words the refusals. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ passReqToCallback: true });
  }

  /** Called by Passport; false is a token that nobody may use. */
  async validate({ lookup }: BearerRequest, token: string): Promise<Caller | false> {
    return (await lookup.find(token)) ?? false;
  }
}
