import { testCertificates } from '../../../test/support/certificates.js';
import { assertCertificates, clientAuthorization, PemError, secretsOf } from './partner-credentials.js';

type Certificates = Parameters<typeof assertCertificates>[0];

function faultOf(certificates: Certificates): string {
  try {
    assertCertificates(certificates);
  } catch (error) {
    if (error instanceof PemError) return `${error.member} ${error.code}`;
    throw error;
  }
  return 'accepted';
}

describe('the certificates of a subscription', () => {
  let made: Awaited<ReturnType<typeof testCertificates>>;
  beforeAll(async () => {
    made = await testCertificates();
  });

  it('accepts valid certificates for a subscription', () => {
    const { authority, otherAuthority, client } = made;
    expect(faultOf({})).toBe('accepted');
    expect(faultOf({ caPem: null, clientCertPem: null, clientKeyPem: null })).toBe('accepted');
    expect(faultOf({ caPem: `# ours\n${authority.certPem}\r\n${otherAuthority.certPem}\n` })).toBe('accepted');
    expect(faultOf({ clientCertPem: client.certPem + authority.certPem, clientKeyPem: client.keyPem })).toBe(
      'accepted',
    );
  });

  it('refuses invalid certificates with an error that names the member and the reason', () => {
    const { authority, client, good } = made;
    const cut = authority.certPem.replace(/\n[^\n]+\n-----END/, '\n-----END');
    expect(faultOf({ caPem: '' })).toBe('caPem certificate_invalid');
    expect(faultOf({ caPem: 'garbage' })).toBe('caPem certificate_invalid');
    expect(faultOf({ caPem: cut })).toBe('caPem certificate_invalid');
    expect(faultOf({ caPem: `${authority.certPem}-----BEGIN CERTIFICATE-----\nMII` })).toBe(
      'caPem certificate_invalid',
    );
    expect(faultOf({ caPem: client.keyPem })).toBe('caPem certificate_invalid');
    expect(faultOf({ clientCertPem: client.certPem })).toBe('clientKeyPem key_missing');
    expect(faultOf({ clientKeyPem: client.keyPem })).toBe('clientCertPem certificate_missing');
    expect(faultOf({ clientCertPem: client.certPem, clientKeyPem: 'garbage' })).toBe('clientKeyPem key_invalid');
    expect(faultOf({ clientCertPem: client.certPem, clientKeyPem: good.keyPem })).toBe('clientKeyPem key_mismatch');
  });
});

it('a client id and secret are form-encoded before they are encoded in base64 (RFC 6749 §2.3.1)', () => {
  const decoded = Buffer.from(clientAuthorization('a b', 'c:d%').slice(6), 'base64').toString();
  expect(decoded).toBe('a+b:c%3Ad%25');
});

it('a credential is recognised in every encoding in which a partner may repeat it in a response', () => {
  const secrets = secretsOf({ type: 'basic', username: 'u', password: 'p"&' });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const hex = ['702226', base64('p"&')];
  expect(new Set(secrets)).toEqual(new Set(['p"&', 'p\\"&', 'p%22%26', ...hex, base64('u:p"&')]));
  expect(secretsOf({ type: 'none' })).toEqual([]);
});

it('the credential after the scheme in a header value counts as a secret by itself, unless it is very short', () => {
  const headers = [
    { name: 'Authorization', value: 'ApiKey 0123456789' },
    { name: 'X-Tenant', value: 'we two' },
  ];
  const secrets = secretsOf({ type: 'headers', headers });
  expect(secrets).toEqual(expect.arrayContaining(['ApiKey 0123456789', '0123456789', 'we two']));
  expect(secrets).not.toContain('two');
});
