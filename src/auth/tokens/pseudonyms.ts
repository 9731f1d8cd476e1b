import { Injectable } from '@nestjs/common';
import { Secrets } from '../../platform/secrets.js';

/**
 * Computes pseudonyms for tables that count: people type passwords into the user name, and a plain hash could be
 * guessed. A new key of `SECRETS_KEY` merely resets the counts.
 */
@Injectable()
export class Pseudonyms {
  constructor(private readonly secrets: Secrets) {}

  of(purpose: string, text: string): Buffer {
    return this.secrets.keyedHash(purpose, text);
  }
}
