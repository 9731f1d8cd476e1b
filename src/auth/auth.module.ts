import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import { AccessTokenLookup } from './tokens/access-token-lookup.js';
import { ApplicationController } from './administration/application.controller.js';
import {
  CreateApplicationHandler,
  GetApplicationHandler,
  ListApplicationsHandler,
  RotateApplicationSecretHandler,
  UpdateApplicationHandler,
} from './administration/application.handlers.js';
import { BearerStrategy } from './tokens/bearer.strategy.js';
import { FindCallerHandler, FindCurrentScopesHandler } from './caller.handlers.js';
import { ClientAuthentication } from './tokens/client-authentication.js';
import { IdentityProvider } from './sessions/identity-provider.js';
import { Login } from './tokens/login.js';
import { OperatorIdentities } from './administration/operator-identities.js';
import { Passwords } from './tokens/passwords.js';
import { PasswordStrength } from './administration/password-strength.js';
import { Pseudonyms } from './tokens/pseudonyms.js';
import { ConsoleSessionController } from './sessions/session.controller.js';
import { ConsoleCookies } from './sessions/session-cookie.js';
import { Sessions } from './sessions/sessions.js';
import { ConsoleSignInController } from './sessions/sign-in.controller.js';
import { TokenController, TokenMetadataController } from './tokens/token.controller.js';
import { TokenEndpoint } from './tokens/token-endpoint.js';
import { TokenGuard } from './tokens/token.guard.js';
import { TokenRefusals } from './tokens/token-refusals.js';
import { TokenRequestLimit } from './tokens/token-request-limit.js';
import { TokenStore } from './tokens/token-store.js';
import { TokenSweep } from './tokens/token-sweep.js';
import { AssignmentFaults } from './administration/assignment-faults.js';
import { UserController } from './administration/user.controller.js';
import { UserRights } from './administration/user-rights.js';
import {
  CreateUserHandler,
  GetUserHandler,
  ListUsersHandler,
  UnlockUserHandler,
  UpdateUserHandler,
} from './administration/user.handlers.js';

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
    AssignmentFaults,
    ...handlers,
  ],
})
export class AuthModule {}
