import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { Response } from 'express';
import type { Caller } from '../../platform/context/caller.js';
import { currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { FindCaller } from '../../platform/current-caller.js';
import { notFound } from '../../platform/errors.js';
import { unauthenticated } from '../../platform/http/challenge.js';
import { PollOffers } from '../delivery/poll-offers.js';
import type { PollAnswer, PollBody } from './poll.dto.js';
import { PollWaiters } from './poll-waiters.js';

const WAIT_MS = 30_000;
/**
 * The time, in milliseconds, that is added to the longest wait of a poll to get the time limit for a silent connection.
 */
const SILENT_EXTRA_MS = 15_000;
const MOST = 20;
const LEASE_S = 60;

/**
 * Answers a partner's poll.
 *
 * 1. The acknowledgements and refusals in the request are recorded.
 * 2. Due notifications are leased to the caller. If none is due, the poll waits (poll-waiters.ts). After each wait, the
 *    caller's token or session is checked again.
 * 3. If the client disconnects, the poll ends, and the notifications that it has just leased are released.
 */
@Injectable()
export class Polls {
  constructor(
    private readonly offers: PollOffers,
    private readonly waiters: PollWaiters,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * Answers a poll.
   * @throws DomainError `not_found` when the caller may not use the subscription, or `unauthorized` when the caller's
   * token or session ended while the poll waited
   */
  async answer(body: PollBody, caller: Caller, response: Response): Promise<PollAnswer> {
    const allowed = currentAllowedSubscriptions() ?? [];
    const subscriptionIds = subscriptionsOf(body, allowed);
    const name = `${caller.consumerKey} ${caller.username}`;
    const unknown = await this.offers.settle(
      name,
      allowed,
      body.ack ?? [],
      (body.refuse ?? []).map(({ id, reason, detail }) => ({ id, reason, detail: detail ?? null })),
    );
    const offer = () => this.offers.offer(subscriptionIds, name, body.max ?? MOST, body.lease_s ?? LEASE_S);
    const gone = goneSignal(response);
    const endAt = performance.now() + WAIT_MS;
    let { rows, more } = await offer();
    while (rows.length === 0 && body.return_immediately !== true && !gone.aborted && !this.waiters.isStopping) {
      const leftMs = endAt - performance.now();
      if (leftMs <= 0) break;
      response.socket?.setTimeout(WAIT_MS + SILENT_EXTRA_MS);
      await this.waiters.wait(subscriptionIds, leftMs, gone);
      if (gone.aborted) break;
      if (!(await this.queryBus.execute(new FindCaller(response.req)))) throw unauthenticated(response.req);
      ({ rows, more } = await offer());
    }
    if (gone.aborted) await this.offers.withdraw(rows);
    else if (more) this.waiters.wake(subscriptionIds);
    return {
      notifications: rows.map(({ id, event_sequence, change_reason, body: text }) => ({
        id,
        event_sequence,
        change_reason,
        body: text,
      })),
      more_available: more,
      unknown,
    };
  }
}

/**
 * Returns the subscriptions that a poll concerns: the one that it names, or all subscriptions of the caller.
 * @throws DomainError `not_found`
 */
function subscriptionsOf({ subscription_id: asked }: PollBody, allowed: readonly string[]): readonly string[] {
  if (asked == null) return allowed;
  if (!allowed.includes(asked)) throw notFound.error({ detail: 'There is no such subscription.' });
  return [asked];
}

/** Returns a signal that aborts when the client disconnects before the response is complete. */
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
