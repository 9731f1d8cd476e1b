import { availableParallelism } from 'node:os';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { hash, verify } from '@node-rs/argon2';
import { serviceUnavailable } from '../platform/errors.js';
import { randomToken } from '../platform/secrets.js';

/** OWASP's minimum for argon2id, the algorithm that the package takes by default; about 10 ms on one core. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Leaves a core to the event loop, and most threads of the libuv pool to everybody else. */
const AT_ONCE = Math.max(1, Math.min(2, availableParallelism() - 1));
const MOST_WAITING = 128;
const RETRY_AFTER_S = 2;

/**
 * Hashes passwords with argon2id, off the event loop and a few at a time: a flood of token requests queues up here and,
 * beyond the bound, is sent away with 503, while the rest of the service keeps its latency.
 */
@Injectable()
export class Passwords implements OnModuleInit {
  private running = 0;
  private readonly waiting: (() => void)[] = [];
  /** The hash of a password that nobody knows: checked in place of an unknown user's, so that it takes as long. */
  private decoy: string;

  async onModuleInit(): Promise<void> {
    this.decoy = await this.hash(randomToken());
  }

  async hash(password: string): Promise<string> {
    return this.inTurn(() => hash(password, COST));
  }

  /** Whether the password fits; `hashed` is null when there is no such user. */
  async verify(hashed: string | null, password: string): Promise<boolean> {
    return this.inTurn(() => verify(hashed ?? this.decoy, password));
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= AT_ONCE) {
      if (this.waiting.length >= MOST_WAITING)
        throw serviceUnavailable.error({ headers: { 'Retry-After': String(RETRY_AFTER_S) } });
      // Whoever ends hands its place over: the number of the running does not change.
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else this.running++;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}
