import { Command } from '@nestjs/cqrs';

/**
 * Creates a new signing key for launch tokens and client assertions. Verifiers find the previous key in the key set for
 * a day. Returns the new key's `kid`.
 */
export class RotateLaunchKey extends Command<string> {}
