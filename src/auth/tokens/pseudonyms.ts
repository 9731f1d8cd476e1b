import { Injectable } from '@nestjs/common';
import { Secrets } from '../../platform/secrets.js';

/**
 * Stands for a text in tables that count: people type passwords where the user name belongs, and a plain hash of one
 * could be guessed. A new key of `SECRETS_KEY` only forgets what was counted.
 */
@Injectable()
export class Pseudonyms {
  constructor(private readonly secrets: Secrets) {}

  of(purpose: string, text: string): Buffer {
    return this.secrets.keyedHash(purpose, text);
  }
}
