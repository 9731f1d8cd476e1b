import { Command } from '@nestjs/cqrs';

/** Signs launch tokens and client assertions with a new key from now on; verifiers find the one before in the key set for a day. Answers its `kid`. */
export class RotateLaunchKey extends Command<string> {}
