import { Injectable } from '@nestjs/common';

/**
 * The points at which two parties of the delivery protocol can race. Each point is named after the step that has just
 * ended or is running:
 *
 * - `claimed`, `probe claimed`: this process has leased rows, but has not queued them yet;
 * - `attempt ended`: the partner has answered, but the outcome is not recorded yet;
 * - `translating`: the statement that translates events is about to run;
 * - `translated`: that statement has run, and the notifications that it claimed are not yet sent;
 * - `changing subscription`: the transaction that changes a subscription is about to commit;
 * - `handed over`: items of a bulk job have rows in `deliveries`, but no delivery loop has been woken yet.
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
