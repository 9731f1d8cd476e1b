import type { PartnerCondition } from '../notifications/notifications.queries.js';

const SOON_MS = 14 * 86_400_000;

/** The problems that a partner can have, most severe first. */
export const TROUBLES = ['down', 'failing', 'certificate_ends', 'suspended', 'unverified'] as const;
type Trouble = (typeof TROUBLES)[number];

export function hasTrouble(partner: PartnerCondition, trouble: Trouble, now: Date): boolean {
  const { state, health, failing_since, certificate_not_after: end } = partner;
  switch (trouble) {
    case 'down':
      return state === 'ACTIVE' && health === 'DOWN';
    case 'failing':
      return state === 'ACTIVE' && health === 'UP' && failing_since !== null;
    case 'certificate_ends':
      return state !== 'UNVERIFIED' && end !== null && end.getTime() < now.getTime() + SOON_MS;
    case 'suspended':
      return state === 'SUSPENDED';
    case 'unverified':
      return state === 'UNVERIFIED';
  }
}

/**
 * Returns the partners with problems. The most severe problems come first. Among equally severe problems, the longest
 * queue comes first.
 */
export function needingAttention(partners: readonly PartnerCondition[], now: Date): PartnerCondition[] {
  const rankOf = (partner: PartnerCondition) => TROUBLES.findIndex((trouble) => hasTrouble(partner, trouble, now));
  return partners
    .map((partner) => ({ partner, rank: rankOf(partner) }))
    .filter(({ rank }) => rank !== -1)
    .sort((left, right) => left.rank - right.rank || right.partner.queued - left.partner.queued)
    .map(({ partner }) => partner);
}
