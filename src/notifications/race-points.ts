import { Injectable } from '@nestjs/common';

/**
 * The places where two parties of the delivery protocol can race, each named after the latest event:
 *
 * - `claimed`, `probe claimed`: rows are leased to this process, which has not queued them yet;
 * - `attempt ended`: the partner has answered, and nothing is recorded yet;
 * - `translating`, `translated`: before the statement that translates events, and after it, when rows that were created
 *   claimed are not yet sent;
 * - `changing subscription`: the transaction is about to commit;
 * - `handed over`: items of a bulk job have their rows in `deliveries`, and no loop has been woken yet.
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
 * Lets a test stop a process of the service at a {@link RacePoint}, so that a race can be reproduced
 * (test/support/races.ts). In production, no process stops there.
 */
@Injectable()
export class RacePoints {
  reached(_point: RacePoint): Promise<void> | void {
    return undefined;
  }
}
