import { contentOf, htmlText, plainText, webhookBody } from './alert-text.rules.js';
import { CONDITIONS, type Condition } from './conditions.js';

const BASE = 'https://exams.example';
const found: Condition = {
  condition: 'PARTNER_DOWN',
  subject: 'x',
  accountCodes: ['K7MWQ2XA9PDR', 'UNKNOWN'],
  since: new Date('2027-01-31T12:00:30Z'),
  endedAt: null,
  mark: 0,
  partner: { subscription_id: '0196f2a4-7c1e-7d3b-9a55-3f0c2b8d6e41', name: 'Board <b>' },
  count: 3,
  at: new Date('2027-02-01T08:00:00Z'),
  detail: 'a detail',
};
const names = new Map([['K7MWQ2XA9PDR', 'State & Board']]);

describe('the text of a message', () => {
  it('the text of an alert states whether a certificate expires or has expired', () => {
    const about = (at: Date) => contentOf({ ...found, condition: 'CERTIFICATE_EXPIRING', at }, names);
    const { title, lines } = about(found.at!);
    expect(title).toBe('A certificate for the partner Board <b> expires at 2027-02-01 08:00 UTC');
    expect(lines).toContain('After its expiry, notifications to this partner fail.');
    const expired = about(new Date('2027-01-31T12:00:30Z'));
    expect(expired.title).toBe('A certificate for the partner Board <b> expired at 2027-01-31 12:00 UTC');
    expect(expired.lines).toContain('Notifications to this partner fail until the certificate is replaced.');
  });

  it('the text of an alert states the condition, its start, the accounts, and the address of a console page', () => {
    expect(plainText(contentOf(found, names), BASE)).toBe(
      [
        'The partner Board <b> is down.',
        '',
        'Since: 2027-01-31 12:00 UTC.',
        'Accounts: State & Board (K7MWQ2XA9PDR), UNKNOWN.',
        'The service keeps the notifications, and sends them when the partner answers again.',
        '',
        `${BASE}/console/partners/0196f2a4-7c1e-7d3b-9a55-3f0c2b8d6e41`,
        '',
      ].join('\n'),
    );
  });

  it('the HTML of an alert escapes the names of partners and accounts', () => {
    const html = htmlText(contentOf(found, names), BASE);
    expect(html).toContain('The partner Board &lt;b&gt; is down.');
    expect(html).toContain('State &amp; Board');
    expect(html).not.toContain('<b>');
  });

  it.each(CONDITIONS)(
    'the text of an alert for %s has complete sentences, and links to a console page',
    (condition) => {
      const content = contentOf({ ...found, condition }, names);
      expect(content.title).toMatch(/^[A-Z0-9]/);
      for (const line of content.lines) expect(line).toMatch(/^[A-Z].*\.$/);
      expect(content.path).toMatch(/^\/console\//);
      expect(JSON.stringify(content)).not.toMatch(/null|undefined/);
    },
  );

  it('the JSON body of a webhook alert contains the text of the alert and machine-readable members', () => {
    expect(JSON.parse(webhookBody(contentOf(found, names), 'on-call', 'id-1', BASE))).toMatchObject({
      id: 'id-1',
      alert: 'on-call',
      condition: 'PARTNER_DOWN',
      since: '2027-01-31T12:00:30Z',
      account_codes: ['K7MWQ2XA9PDR', 'UNKNOWN'],
      text: plainText(contentOf(found, names), BASE).trim(),
      url: `${BASE}/console/partners/0196f2a4-7c1e-7d3b-9a55-3f0c2b8d6e41`,
    });
  });
});
