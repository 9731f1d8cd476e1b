import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Fault } from '../../platform/errors.js';
import { fault } from '../../platform/validation/rules.js';
import { WorkerProcess } from '../../platform/worker-process.js';

const LEAST_GUESSES = 1e8;
/**
 * Matches the characters that may separate repetitions of a user name. Such characters do not make a password harder to
 * guess.
 */
const SEPARATORS = /[\s._@+-]/g;
/**
 * The idle time, in milliseconds, after which the process that estimates password strength is stopped. The
 * process's word lists occupy 34 MB and take 0.2 s to load.
 */
const IDLE_MS = 60_000;

/** Refuses passwords that an attacker would find within the first 10^8 guesses, according to the estimate of zxcvbn. */
@Injectable()
export class PasswordStrength implements OnApplicationShutdown {
  private readonly process = new WorkerProcess<{ password: string; known: string[] }, number>(
    join(__dirname, 'password-strength-process.cjs'),
    ['--max-old-space-size=128'],
    IDLE_MS,
  );

  onApplicationShutdown(): Promise<void> {
    return this.process.end();
  }

  /** Returns a `password_weak` fault at `/password` if the password is weak. */
  async faults(password: string, username: string): Promise<readonly Fault[]> {
    // The estimate of zxcvbn is too high for a password that only repeats the user name.
    const isName = password.toLowerCase().replaceAll(username.toLowerCase(), '').replace(SEPARATORS, '') === '';
    if (!isName && (await this.guesses(password, username)) >= LEAST_GUESSES) return [];
    const detail = isName
      ? 'Must not consist of the user name alone.'
      : 'Can be guessed in fewer than 100 million tries.';
    return [fault('password_weak', detail, '/password')];
  }

  private guesses(password: string, username: string): Promise<number> {
    return this.process.run({ password, known: [username, ...username.split(/[._@+-]+/)] });
  }
}
