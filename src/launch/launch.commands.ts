import { Command } from '@nestjs/cqrs';

/**
 * Creates a new signing key for launch tokens and client assertions, and returns its `kid`. The key set contains the
 * previous key for another day.
 */
export class RotateLaunchKey extends Command<string> {}
