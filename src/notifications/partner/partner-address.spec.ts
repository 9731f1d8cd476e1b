import {
  AddressBlockedError,
  dialledHost,
  notificationsUrl,
  parsePartnerUrl,
  parseTokenUrl,
  PartnerAddressGuard,
  PartnerUrlError,
} from './partner-address.js';

const closed = new PartnerAddressGuard([]);
const sandbox = new PartnerAddressGuard(['127.0.0.0/8', '::1/128']);

function codeOf(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof PartnerUrlError) return error.code;
    throw error;
  }
  return 'accepted';
}

describe('a partner URL', () => {
  it.each([
    ['https://partner.example', 'https://partner.example/', 'https://partner.example/notifications'],
    ['https://partner.example/', 'https://partner.example/', 'https://partner.example/notifications'],
    [
      'https://partner.example:8443/a/b/',
      'https://partner.example:8443/a/b',
      'https://partner.example:8443/a/b/notifications',
    ],
    ['https://partner.example/a//', 'https://partner.example/a', 'https://partner.example/a/notifications'],
    ['HTTPS://Partner.Example/A', 'https://partner.example/A', 'https://partner.example/A/notifications'],
    ['https://partner.example.:443/a', 'https://partner.example/a', 'https://partner.example/a/notifications'],
    [
      'https://b\u00fccher.example/%7ea/%c3%a4/../%2f',
      'https://xn--bcher-kva.example/~a/%2F',
      'https://xn--bcher-kva.example/~a/%2F/notifications',
    ],
    ['https://partner.example/%2541', 'https://partner.example/%2541', 'https://partner.example/%2541/notifications'],
    ['https://[2606:4700::1]/x', 'https://[2606:4700::1]/x', 'https://[2606:4700::1]/x/notifications'],
  ])('the partner URL %s is stored as %s, and notifications are sent to %s', (text, saved, called) => {
    expect(parsePartnerUrl(text).href).toBe(saved);
    expect(notificationsUrl(text).href).toBe(called);
    expect(notificationsUrl(saved).href).toBe(called);
  });

  it.each([
    ['http://partner.example', 'url_scheme'],
    ['ftp://partner.example', 'url_scheme'],
    ['file:///etc/passwd', 'url_scheme'],
    ['https:partner.example', 'url_scheme'],
    ['https:/partner.example', 'url_scheme'],
    ['https:///partner.example', 'url_scheme'],
    ['javascript:alert(1)', 'url_scheme'],
    ['partner.example', 'url_invalid'],
    ['', 'url_invalid'],
    ['https://', 'url_invalid'],
    [' https://partner.example', 'url_invalid'],
    ['https://partner.example/a b', 'url_invalid'],
    ['https://partner\n.example', 'url_invalid'],
    ['https://partner.example\\@inside', 'url_invalid'],
    ['https://partner.example:99999', 'url_invalid'],
    ['https://partner.example:0', 'url_port'],
    ['https://partner.example:00/', 'url_port'],
    ['https://a..example', 'url_host'],
    ['https://partner.example..', 'url_host'],
    ['https://./', 'url_host'],
    [`https://${'a'.repeat(64)}.example`, 'url_host'],
    ['https://user@partner.example', 'url_userinfo'],
    ['https://user:password@partner.example', 'url_userinfo'],
    ['https://@partner.example', 'url_userinfo'],
    ['https://partner.example/#', 'url_fragment'],
    ['https://partner.example/#part', 'url_fragment'],
    ['https://partner.example/?', 'url_query'],
    ['https://partner.example/?tenant=1', 'url_query'],
  ])('the partner URL %j is refused as %s', (text, code) => {
    expect(codeOf(() => parsePartnerUrl(text))).toBe(code);
  });

  it('a partner URL may contain an @ in its path', () => {
    expect(parsePartnerUrl('https://partner.example/@team').pathname).toBe('/@team');
  });
});

it('a token URL must use https, and may have a query (RFC 6749 §3.2), but no fragment', () => {
  expect(parseTokenUrl('https://partner.example/token/?tenant=1').href).toBe('https://partner.example/token/?tenant=1');
  expect(codeOf(() => parseTokenUrl('https://partner.example/token#x'))).toBe('url_fragment');
  expect(codeOf(() => parseTokenUrl('http://partner.example/token'))).toBe('url_scheme');
});

describe('the address guard', () => {
  const refused = [
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1', '100.127.255.255'],
    [
      'link-local and metadata',
      '169.254.0.1',
      '169.254.169.254',
      'fe80::1',
      'fe80::1%eth0',
      'fd00:ec2::254',
      '168.63.129.16',
    ],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['broadcast and reserved', '255.255.255.255', '240.0.0.1'],
    ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
    ['benchmark and protocol assignments', '198.18.0.1', '198.19.255.255', '192.0.0.192', '2001:2::1'],
    [
      'IPv4-mapped',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:10.0.0.1',
      '0:0:0:0:0:ffff:a9fe:a9fe',
      '::FFFF:192.168.0.1',
    ],
    ['IPv4-compatible and translated', '::127.0.0.1', '::7f00:1', '::8.8.8.8', '::ffff:0:7f00:1'],
    ['NAT64', '64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1'],
    ['6to4 and Teredo', '2002:7f00:1::', '2002:808:808::1', '192.88.99.1', '2001::1', '2001:0:7f00:1::'],
    ['unique local and site-local', 'fc00::1', 'fdff:ffff::1', 'fec0::1'],
    [
      'discard, unassigned, not an address',
      '100::1',
      '5f00::1',
      '4000::1',
      '',
      'partner.example',
      '127.1',
      '2130706433',
    ],
  ].flatMap(([kind, ...addresses]) => addresses.map((address) => [kind, address] as const));

  it.each(refused)('the address guard refuses an address that is not public (%s): %s', (_kind, address) => {
    expect(closed.isAllowed(address)).toBe(false);
    expect(() => closed.assertAllowed(address)).toThrow(AddressBlockedError);
  });

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '128.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '::ffff:8.8.8.8',
    '2606:4700::1111',
    '2001:200::1',
    '2a00:1450::1',
  ])('the address guard allows the public address %s', (address) => {
    expect(closed.isAllowed(address)).toBe(true);
  });

  it.each([
    ['127.0.0.1', true],
    ['127.9.9.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['::ffff:7f00:1', true],
    ['::127.0.0.1', false],
    ['64:ff9b::127.0.0.1', false],
    ['10.0.0.1', false],
    ['169.254.169.254', false],
    ['::', false],
    ['0.0.0.0', false],
    ['8.8.8.8', true],
  ])('in the sandbox, the address guard allows a connection to %s: %s', (address, allowed) => {
    expect(sandbox.isAllowed(address)).toBe(allowed);
  });

  it('the address guard also checks the IPv4 address behind an allowed NAT64 gateway', () => {
    const guard = new PartnerAddressGuard(['64:ff9b::/96']);
    expect(guard.isAllowed('64:ff9b::808:808')).toBe(true);
    expect(guard.isAllowed('64:ff9b::10.0.0.1')).toBe(false);
    expect(guard.isAllowed('64:ff9b::')).toBe(false);
  });

  it('an allowed network without a prefix length allows only one address', () => {
    const guard = new PartnerAddressGuard(['10.1.2.3', ' fd00::/8 ']);
    expect(['10.1.2.3', '10.1.2.4', 'fd12::1', 'fc00::1'].map((address) => guard.isAllowed(address))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it('the address guard allows no private IPv4 address even if all IPv6 addresses are allowed', () => {
    const guard = new PartnerAddressGuard(['::/0']);
    expect(guard.isAllowed('10.0.0.1')).toBe(false);
    expect(guard.isAllowed('::ffff:10.0.0.1')).toBe(false);
    expect(guard.isAllowed('fd00::1')).toBe(true);
  });

  it.each(['', 'localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1', '10.0/8'])(
    'the address guard refuses the setting %j for its allowed networks',
    (network) => {
      expect(() => new PartnerAddressGuard([network])).toThrow(/is not a network/);
    },
  );

  it.each([
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://127.1',
    'https://0177.0.0.1',
    'https://127.0.0.1.',
    'https://%31%32%37.0.0.1',
    'https://①②⑦.⓪.⓪.①',
    'https://[::1]',
    'https://[::ffff:7f00:1]',
    'https://[::ffff:127.0.0.1]',
    'https://[64:ff9b::7f00:1]',
    'https://169.254.169.254/latest/meta-data',
  ])('refuses to save the partner URL %s', (text) => {
    expect(() => closed.assertUrlAllowed(parsePartnerUrl(text))).toThrow(AddressBlockedError);
  });

  it('the address guard checks the addresses of a host name when the name is resolved, and not before', async () => {
    closed.assertUrlAllowed(parsePartnerUrl('https://inside.example'));
    const nobodyAsks = () => Promise.reject(new Error('It is an address.'));
    await expect(closed.resolveAllowed('inside.example', () => Promise.resolve(['10.0.0.1']))).rejects.toThrow(
      AddressBlockedError,
    );
    await expect(closed.resolveAllowed('both.example', () => Promise.resolve(['8.8.8.8', '10.0.0.1']))).rejects.toThrow(
      AddressBlockedError,
    );
    await expect(closed.resolveAllowed('good.example', () => Promise.resolve(['8.8.8.8', '8.8.4.4']))).resolves.toEqual(
      ['8.8.8.8', '8.8.4.4'],
    );
    await expect(closed.resolveAllowed('8.8.8.8', nobodyAsks)).resolves.toEqual(['8.8.8.8']);
    await expect(closed.resolveAllowed('::ffff:7f00:1', nobodyAsks)).rejects.toThrow(AddressBlockedError);
  });
});

it.each([
  ['https://[::1]:8443/', '::1'],
  ['https://partner.example./', 'partner.example'],
  ['https://0x7f.1/', '127.0.0.1'],
])('a request to %s connects to the host %s', (url, host) => {
  expect(dialledHost(new URL(url))).toBe(host);
});
