import { Injectable } from '@nestjs/common';
import { Secrets } from '../../platform/secrets.js';

/**
 * Computes pseudonyms of user names and addresses, for the tables that count requests. People sometimes type a password
 * into the field for the user name, and a password could be guessed from its plain hash. The only effect of a change of
 * `SECRETS_KEY` is that the counts start again.
 */
@Injectable()
export class Pseudonyms {
  constructor(private readonly secrets: Secrets) {}

  of(purpose: string, text: string): Buffer {
    return this.secrets.keyedHash(purpose, text);
  }
}
