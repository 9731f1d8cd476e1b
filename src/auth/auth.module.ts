import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard, BearerGuard } from './access.guard.js';
import { AccessTokenLookup } from './access-token-lookup.js';
import { BearerStrategy } from './bearer.strategy.js';
import { ClientAuthentication } from './client-authentication.js';
import { Login } from './login.js';
import { Passwords } from './passwords.js';
import { Pseudonyms } from './pseudonyms.js';
import { TokenController, TokenMetadataController } from './token.controller.js';
import { TokenEndpoint } from './token-endpoint.js';
import { TokenGuard } from './token.guard.js';
import { TokenRequestLimit } from './token-request-limit.js';
import { TokenStore } from './token-store.js';
import { TokenSweep } from './token-sweep.js';

@Module({
  controllers: [TokenController, TokenMetadataController],
  providers: [
    AccessTokenLookup,
    BearerStrategy,
    BearerGuard,
    { provide: APP_GUARD, useClass: AccessGuard },
    ClientAuthentication,
    Login,
    Passwords,
    Pseudonyms,
    TokenEndpoint,
    TokenGuard,
    TokenRequestLimit,
    TokenStore,
    TokenSweep,
  ],
})
export class AuthModule {}
