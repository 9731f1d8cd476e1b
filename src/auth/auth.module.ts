import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import { AccessTokenLookup } from './access-token-lookup.js';
import { ApplicationController } from './application.controller.js';
import {
  CreateApplicationHandler,
  GetApplicationHandler,
  ListApplicationsHandler,
  RotateApplicationSecretHandler,
  UpdateApplicationHandler,
} from './application.handlers.js';
import { BearerStrategy } from './bearer.strategy.js';
import { FindCallerHandler, FindCurrentScopesHandler } from './caller.handler.js';
import { ClientAuthentication } from './client-authentication.js';
import { IdentityProvider } from './identity-provider.js';
import { Login } from './login.js';
import { OperatorIdentities } from './operator-identities.js';
import { Passwords } from './passwords.js';
import { PasswordStrength } from './password-strength.js';
import { Pseudonyms } from './pseudonyms.js';
import { ConsoleSessionController } from './session.controller.js';
import { ConsoleCookies } from './session-cookie.js';
import { Sessions } from './sessions.js';
import { ConsoleSignInController } from './sign-in.controller.js';
import { TokenController, TokenMetadataController } from './token.controller.js';
import { TokenEndpoint } from './token-endpoint.js';
import { TokenGuard } from './token.guard.js';
import { TokenRefusals } from './token-refusals.js';
import { TokenRequestLimit } from './token-request-limit.js';
import { TokenStore } from './token-store.js';
import { TokenSweep } from './token-sweep.js';
import { UserController } from './user.controller.js';
import { UserRights } from './user-rights.js';
import {
  CreateUserHandler,
  GetUserHandler,
  ListUsersHandler,
  UnlockUserHandler,
  UpdateUserHandler,
} from './user.handlers.js';

const handlers = [
  FindCallerHandler,
  FindCurrentScopesHandler,
  CreateUserHandler,
  UpdateUserHandler,
  UnlockUserHandler,
  GetUserHandler,
  ListUsersHandler,
  CreateApplicationHandler,
  UpdateApplicationHandler,
  RotateApplicationSecretHandler,
  GetApplicationHandler,
  ListApplicationsHandler,
];

@Module({
  controllers: [
    TokenController,
    TokenMetadataController,
    ConsoleSessionController,
    ConsoleSignInController,
    UserController,
    ApplicationController,
  ],
  providers: [
    AccessTokenLookup,
    BearerStrategy,
    AccessGuard,
    { provide: APP_GUARD, useExisting: AccessGuard },
    ClientAuthentication,
    ConsoleCookies,
    IdentityProvider,
    Login,
    OperatorIdentities,
    Passwords,
    PasswordStrength,
    Pseudonyms,
    Sessions,
    TokenEndpoint,
    TokenGuard,
    TokenRefusals,
    TokenRequestLimit,
    TokenStore,
    TokenSweep,
    UserRights,
    ...handlers,
  ],
})
export class AuthModule {}
