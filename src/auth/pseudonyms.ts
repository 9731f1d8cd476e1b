import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';

/**
 * Stands for a text in tables that count: people type passwords where the user name belongs, and a plain hash of one
 * could be guessed. The newest key of `SECRETS_KEY` makes it; a new key only forgets what was counted.
 */
@Injectable()
export class Pseudonyms {
  constructor(private readonly config: Config) {}

  of(purpose: string, text: string): Buffer {
    return createHmac('sha256', this.config.secretsKeys[0]).update(`${purpose}\0${text}`).digest();
  }
}
