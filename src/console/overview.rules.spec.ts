import type { PartnerCondition } from '../notifications/notifications.queries';
import { hasTrouble, needingAttention, TROUBLES } from './overview.rules';

const NOW = new Date('2031-05-01T12:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
const partner = (changes: Partial<PartnerCondition> = {}): PartnerCondition => ({
  subscription_id: 'id',
  account_code: 'A',
  subscription_name: null,
  partner_url: 'https://partner.example',
  delivery: 'PUSH',
  state: 'ACTIVE',
  health: 'UP',
  health_changed_at: null,
  next_probe_at: null,
  paused_from: null,
  paused_until: null,
  pace: null,
  certificate_not_after: inDays(90),
  queued: 0,
  failing_since: null,
  ...changes,
});
const troublesOf = (one: PartnerCondition) => TROUBLES.filter((trouble) => hasTrouble(one, trouble, NOW));

test.each([
  ['nothing', {}, []],
  ['DOWN', { health: 'DOWN', failing_since: NOW }, ['down']],
  ['every attempt fails', { failing_since: NOW }, ['failing']],
  ['suspended, and failed before', { state: 'SUSPENDED', failing_since: NOW }, ['suspended']],
  ['unverified', { state: 'UNVERIFIED', certificate_not_after: inDays(1) }, ['unverified']],
  ['a certificate that expires in 13 days', { certificate_not_after: inDays(13) }, ['certificate_ends']],
  [
    'an expired certificate of a DOWN partner',
    { certificate_not_after: inDays(-1), health: 'DOWN' },
    ['down', 'certificate_ends'],
  ],
  ['a certificate that expires in 15 days', { certificate_not_after: inDays(15) }, []],
  ['no certificate seen yet', { certificate_not_after: null }, []],
] as [string, Partial<PartnerCondition>, string[]][])(
  'shows the problems of a partner in the overview: %s',
  (_name, changes, troubles) => {
    expect(troublesOf(partner(changes))).toEqual(troubles);
  },
);

test('the overview lists the partners with the worst problem first, then those with the longest queue, and omits healthy partners', () => {
  const partners = [
    partner({ subscription_id: 'well', queued: 9 }),
    partner({ subscription_id: 'suspended', state: 'SUSPENDED', queued: 5 }),
    partner({ subscription_id: 'failing', failing_since: NOW }),
    partner({ subscription_id: 'failing more', failing_since: NOW, queued: 3 }),
    partner({ subscription_id: 'down', health: 'DOWN' }),
  ];
  expect(needingAttention(partners, NOW).map((one) => one.subscription_id)).toEqual([
    'down',
    'failing more',
    'failing',
    'suspended',
  ]);
});
