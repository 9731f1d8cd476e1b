import { Injectable } from '@nestjs/common';
import { Secrets } from '../../platform/secrets.js';

/**
 * Computes pseudonyms of user names and addresses, for the tables that count requests. People type passwords into the
 * field for the user name, and a plain hash of a password could be guessed. A new `SECRETS_KEY` only resets the counts.
 */
@Injectable()
export class Pseudonyms {
  constructor(private readonly secrets: Secrets) {}

  of(purpose: string, text: string): Buffer {
    return this.secrets.keyedHash(purpose, text);
  }
}
