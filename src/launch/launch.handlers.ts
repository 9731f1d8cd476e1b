import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { SigningKeys } from '../platform/signing-keys/signing-keys.js';
import { RotateLaunchKey } from './launch.commands.js';

@CommandHandler(RotateLaunchKey)
export class RotateLaunchKeyHandler implements ICommandHandler<RotateLaunchKey> {
  constructor(private readonly keys: SigningKeys) {}

  async execute(): Promise<string> {
    return (await this.keys.rotate()).kid;
  }
}
