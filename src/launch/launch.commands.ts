import { Command } from '@nestjs/cqrs';

/** Signs launches with a new key from now on; verifiers find the one before in the key set for a day. Answers its `kid`. */
export class RotateLaunchKey extends Command<string> {}
