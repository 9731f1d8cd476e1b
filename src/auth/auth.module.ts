import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard, BearerGuard } from './access.guard.js';
import { AccessTokenLookup } from './access-token-lookup.js';
import { BearerStrategy } from './bearer.strategy.js';

@Module({
  providers: [AccessTokenLookup, BearerStrategy, BearerGuard, { provide: APP_GUARD, useClass: AccessGuard }],
})
export class AuthModule {}
