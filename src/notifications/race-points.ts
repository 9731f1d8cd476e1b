import { Injectable } from '@nestjs/common';

/**
 * Where two parties of the delivery protocol can meet, each named after what has just happened:
 *
 * - `claimed`, `probe claimed`: rows are leased to this process, which has not taken them in yet;
 * - `attempt ended`: the partner has answered, nothing is recorded;
 * - `translating`, `translated`: before the statement, and between it and the sending of what was born claimed;
 * - `changing subscription`: the transaction is about to commit;
 * - `handed over`: items of a bulk job have their obligations, and no loop was woken.
 */
export type RacePoint =
  | 'claimed'
  | 'probe claimed'
  | 'attempt ended'
  | 'translating'
  | 'translated'
  | 'changing subscription'
  | 'handed over';

/**
 * Places at which a test holds a process of the service, so that a race is a test and not luck (test/support/races.ts).
 * In production nobody is held.
 */
@Injectable()
export class RacePoints {
  reached(_point: RacePoint): Promise<void> | void {
    return undefined;
  }
}
