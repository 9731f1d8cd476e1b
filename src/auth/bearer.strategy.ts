import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import type { Caller } from '../platform/http/access.js';
import { AccessTokenLookup } from './access-token-lookup.js';

let strategies = 0;

/** RFC 6750 bearer tokens for Passport: a token in, its caller out. The guard words the refusals. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  /**
   * Passport keeps its strategies by name in one list for the whole process. Two applications in one process
   * (the tests run several) must not answer with each other's database, so each one registers a name of its own.
   */
  override readonly name = `bearer-${++strategies}`;

  constructor(private readonly lookup: AccessTokenLookup) {
    super();
    passport.use(this.name, this);
  }

  /** Shows the strategy the header alone: it would also take a token from query and body (RFC 6750 §2.2, §2.3). */
  override authenticate(request: Request): void {
    super.authenticate({ headers: request.headers } as Request);
  }

  /** Called by Passport; false is a token that nobody may use. */
  async validate(token: string): Promise<Caller | false> {
    return (await this.lookup.find(token)) ?? false;
  }
}
