import { Injectable, Optional } from '@nestjs/common';
import { type AttemptOutcome, Puts } from './attempt-outcome.js';
import { parseTokenUrl, PartnerAddressGuard } from './partner-address.js';
import { PartnerConnector, PartnerFault } from './partner-connection.js';
import { secureContextOf } from './partner-credentials.js';
import { OWN_HEADERS } from './partner-headers.js';
import { type AddressLookup, systemLookup } from './partner-names.js';
import { IdleConnections, PartnerPool } from './partner-transport.js';

/**
 * Sends a POST request to a webhook, under the same address guard, TLS rules and limits as requests to partners. Each
 * request has its own connection, because webhooks are rare.
 */
@Injectable()
export class WebhookClient {
  constructor(
    private readonly guard: PartnerAddressGuard,
    @Optional() private readonly addressLookup: AddressLookup = systemLookup,
  ) {}

  /**
   * Sends the JSON body. A failure of the webhook is returned as an outcome, and never thrown.
   * @param secrets values of headers that must not appear in the excerpt of the response
   */
  async post(
    url: string,
    headers: Record<string, string>,
    body: string,
    { waitMs, secrets }: { waitMs: number; secrets: string[] },
  ): Promise<AttemptOutcome> {
    const start = performance.now();
    const puts = new Puts(start, secrets);
    const target = parseTokenUrl(url);
    const connector = new PartnerConnector(target, secureContextOf({}), this.guard, this.addressLookup);
    const pool = new PartnerPool(target.origin, connector, 1, waitMs, new IdleConnections());
    try {
      const path = target.pathname + target.search;
      const own = { ...OWN_HEADERS, 'content-type': 'application/json' };
      const request = { method: 'POST' as const, path, headers: { ...headers, ...own }, body };
      return puts.outcome(await pool.send(request, start + waitMs));
    } catch (error) {
      if (!(error instanceof PartnerFault)) throw error;
      return puts.failed(error);
    } finally {
      await pool.close();
    }
  }
}
