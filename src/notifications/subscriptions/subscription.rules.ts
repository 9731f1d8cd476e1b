import { fault, text, type Rule } from '../../platform/validation/rules.js';
import type { Fault } from '../../platform/errors.js';
import type { PartnerDelivery, Subscription } from './subscription.entity.js';
import { isSameAddress, isSameHost, parsePartnerUrl, PartnerUrlError } from '../partner/partner-address.js';
import {
  assertCertificates,
  assertNotExpired,
  PemError,
  type PartnerCertificates,
} from '../partner/partner-credentials.js';

const MOST_URL = 2000;
/** The stored address of a partner that polls and has no address. Release 1.0.0 expects a text in this column. */
export const NO_ADDRESS = '';
/** The SQL expression for the address of a subscription `s`; null if the partner polls and has no address. */
export const ADDRESS = `nullif(s.partner_url, '${NO_ADDRESS}') AS partner_url`;

export function url(parse: (value: string) => URL, description: string): Rule {
  const plain = text({ min: 1, max: MOST_URL });
  return {
    // The schema has the format `iri` instead of `uri`, because host names may contain characters beyond ASCII.
    schema: { ...plain.schema, format: 'iri', description },
    faults(value) {
      const faults = plain.faults(value);
      if (faults.length > 0) return faults;
      try {
        parse(value as string);
        return [];
      } catch (error) {
        if (error instanceof PartnerUrlError) return [fault(error.code, `The URL ${error.message}.`)];
        throw error;
      }
    },
  };
}

export const partnerUrl = url(
  parsePartnerUrl,
  'The address of the partner: https, without user information, query and fragment. The service sends `PUT ' +
    '{partner_url}/notifications`.',
);
/** The validation rule for a PEM text. Its content is checked by {@link certificateFaults}. */
export const pem = text({ min: 1, max: 100_000, lines: true });

const PEM_POINTERS: Record<keyof PartnerCertificates, string> = {
  caPem: '/ca_pem',
  clientCertPem: '/client_cert_pem',
  clientKeyPem: '/client_key_pem',
};

/**
 * Returns the validation errors of a subscription's certificates, which are checked together.
 * @param isNew whether this request sets the client certificate
 */
export function certificateFaults(certificates: PartnerCertificates, isNew: boolean): Fault[] {
  const { clientCertPem } = certificates;
  try {
    assertCertificates(certificates);
    if (isNew && clientCertPem != null) assertNotExpired(clientCertPem);
    return [];
  } catch (error) {
    if (!(error instanceof PemError)) throw error;
    return [fault(error.code, `The value ${error.message}.`, PEM_POINTERS[error.member])];
  }
}

/**
 * Returns a validation error for each kind of stored credentials that would be sent to a new host after the change.
 * Credentials are sent only to the host for which they were set.
 */
export function credentialFaults(
  {
    partner_url,
    auth,
    client_key_pem,
  }: Partial<Record<'partner_url' | 'client_key_pem', string | null>> & { auth?: unknown },
  kept: Pick<Subscription, 'partner_url' | 'auth' | 'client_key'>,
): Fault[] {
  if (partner_url == null || isSameHost(partner_url, kept.partner_url)) return [];
  const faults: Fault[] = [];
  // Credentials for OAuth 2.0 must also be set again. Only the token endpoint receives these credentials, but the new
  // host would receive the access tokens.
  if (auth === undefined && (kept.auth.type !== 'none' || kept.auth.headers !== undefined))
    faults.push(
      fault(
        'auth_required',
        'A change to another host requires auth in the same request. Send null to use no credentials.',
        '/auth',
      ),
    );
  if (client_key_pem === undefined && kept.client_key !== null)
    faults.push(
      fault(
        'auth_required',
        'A change to another host requires the client certificate and its key in the same request. Send null to use no certificate.',
        '/client_key_pem',
      ),
    );
  return faults;
}

/** Returns a validation error if a partner to which the service pushes would have no address. */
export function addressRequired(delivery: PartnerDelivery, address: string | null | undefined): Fault[] {
  if (delivery === 'POLL' || (address != null && address !== NO_ADDRESS)) return [];
  return [fault('required', 'Must be given, unless delivery is POLL.', '/partner_url')];
}

/** The values of `auto_retry_on`. The setting always contains {@link DEFAULT_AUTO_RETRY}. */
export const AUTO_RETRY_CAUSES = ['500', '429', '408', '502', '503', '504', 'timeout', 'connection'] as const;
/**
 * The causes that every subscription retries. A partner sends a 500 to report that some of its components are down, and
 * a 429 to report that it is busy.
 */
export const DEFAULT_AUTO_RETRY: readonly AutoRetryCause[] = ['500', '429'];
export type AutoRetryCause = (typeof AUTO_RETRY_CAUSES)[number];

/**
 * Returns the causes of automatic retries in the order of {@link AUTO_RETRY_CAUSES}, without duplicates and including
 * {@link DEFAULT_AUTO_RETRY}.
 */
export function autoRetryCauses(asked: readonly string[]): AutoRetryCause[] {
  return AUTO_RETRY_CAUSES.filter((cause) => DEFAULT_AUTO_RETRY.includes(cause) || asked.includes(cause));
}

/**
 * Resets the subscription for a new address. If the subscription was verified, its events are held back until the new
 * address is verified, as during a suspension.
 */
function beginMove(subscription: Subscription, now: Date): void {
  const { state, suspended_datetime: since } = subscription;
  if (state !== 'UNVERIFIED') {
    subscription.suspended_before_move = state === 'SUSPENDED' ? since : null;
    subscription.suspended_datetime = since ?? now;
  }
  subscription.state = 'UNVERIFIED';
  forgetPartner(subscription);
}

/**
 * Makes the subscription ACTIVE, after its new address has answered a sample with 200. If it was suspended before its
 * address changed, it is SUSPENDED again. Later responses from the old address are ignored.
 */
export function endMove(subscription: Subscription, now: Date): void {
  const isSuspended = wasSuspendedBeforeMove(subscription);
  if (!isSuspended) endSuspension(subscription, now);
  subscription.state = isSuspended ? 'SUSPENDED' : 'ACTIVE';
  subscription.suspended_before_move = null;
  forgetPartner(subscription);
}

type Suspension = Pick<Subscription, 'state' | 'suspended_datetime' | 'suspended_by_partner' | 'suspended_before_move'>;

function wasSuspendedBeforeMove({
  state,
  suspended_datetime: since,
  suspended_before_move: before,
}: Suspension): boolean {
  return state === 'UNVERIFIED' && before !== null && before.getTime() === since?.getTime();
}

/** Changes the address of the subscription, and whether notifications are pushed to it or polled. */
export function changeWay(subscription: Subscription, url: string, delivery: PartnerDelivery, now: Date): void {
  const { partner_url: before, delivery: earlier, state } = subscription;
  subscription.partner_url = url;
  if (delivery === 'POLL') {
    if (earlier === 'PUSH' || state === 'UNVERIFIED') beginPolling(subscription, before, now);
  } else if (earlier === 'POLL') beginPushing(subscription, now);
  else if (!isSameAddress(url, before)) beginMove(subscription, now);
}

/**
 * Changes the subscription to polling. Polling needs no address, and hence no verification. The verified address is
 * stored, so that the subscription can return to it at any time.
 */
function beginPolling(subscription: Subscription, verifiedUrl: string, now: Date): void {
  subscription.verified_url = subscription.state === 'UNVERIFIED' ? null : verifiedUrl;
  if (subscription.state === 'UNVERIFIED') endMove(subscription, now);
  forgetPartner(subscription);
  subscription.delivery = 'POLL';
}

/**
 * Changes the subscription to pushing. If its address was never verified, the address must be verified like a new one.
 */
function beginPushing(subscription: Subscription, now: Date): void {
  const { verified_url: verified, partner_url: address } = subscription;
  forgetPartner(subscription);
  if (verified === null || !isSameAddress(verified, address)) beginMove(subscription, now);
  subscription.verified_url = null;
  subscription.delivery = 'PUSH';
}

const NO_PROBE = {
  next_probe_at: null,
  probe_from: null,
  probe_step: 0,
  probe_token: null,
} satisfies Partial<Subscription>;

/** Marks a DOWN partner as UP after it has answered a sample with 200. */
export function markUp(subscription: Subscription, now: Date): void {
  Object.assign(subscription, { ...NO_PROBE, health: 'UP', health_changed_at: now } satisfies Partial<Subscription>);
}

/** Resets all columns of the subscription that describe the partner's condition. */
function forgetPartner(subscription: Subscription): void {
  Object.assign(subscription, {
    ...NO_PROBE,
    health: 'UP',
    health_changed_at: null,
    paused_from: null,
    paused_until: null,
    pace: null,
    pace_ceiling: null,
    pace_good: 0,
    pace_confirmed: 0,
    paced_to: null,
    busy_since: null,
    certificate_not_after: null,
  } satisfies Partial<Subscription>);
}

/**
 * Suspends the subscription. If the partner has already suspended it, an operator's suspension replaces the partner's
 * suspension.
 */
export function beginSuspension(subscription: Subscription, by: 'OPERATOR' | 'PARTNER', now: Date): void {
  const isNew = subscription.state !== 'SUSPENDED';
  if (isNew) subscription.suspended_datetime = now;
  if (isNew || by === 'OPERATOR')
    subscription.suspended_by_partner = by === 'PARTNER' ? subscription.suspended_datetime : null;
  subscription.state = 'SUSPENDED';
}

/**
 * Returns whether an operator or the partner suspended the subscription; null if it is not suspended. A subscription
 * that was suspended before its address changed stays suspended while the new address is not yet verified.
 */
export function suspenderOf(subscription: Suspension): 'OPERATOR' | 'PARTNER' | null {
  const { state, suspended_datetime, suspended_by_partner } = subscription;
  if (state !== 'SUSPENDED' && !wasSuspendedBeforeMove(subscription)) return null;
  const isByPartner = suspended_by_partner !== null && suspended_by_partner.getTime() === suspended_datetime?.getTime();
  return isByPartner ? 'PARTNER' : 'OPERATOR';
}

/**
 * Ends a suspension and stores its period, which does not count towards the age at which a notification is given up.
 */
export function endSuspension(subscription: Pick<Subscription, 'suspended_datetime' | 'suspensions'>, now: Date): void {
  const { suspended_datetime: from, suspensions } = subscription;
  subscription.suspended_datetime = null;
  if (from === null || from >= now) return;
  // The new period is appended, which keeps the multirange sorted, because suspensions do not overlap.
  const ranges = [suspensions.slice(1, -1), `[${from.toISOString()},${now.toISOString()})`];
  subscription.suspensions = `{${ranges.filter((range) => range !== '').join(',')}}`;
}
