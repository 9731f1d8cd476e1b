// The @peculiar/x509 package needs the reflect-metadata polyfill for its dependency injection.
import 'reflect-metadata';

import { webcrypto } from 'node:crypto';

import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 3600_000;

export interface Identity {
  certPem: string;
  keyPem: string;
}

export interface CertificateOptions {
  dnsNames?: string[];
  addresses?: string[];
  notBefore?: Date;
  notAfter?: Date;
  usage?: 'server' | 'client';
}

/** A certificate authority created for one test run. */
export class Authority {
  private serial = 1;

  private constructor(
    private readonly certificate: x509.X509Certificate,
    private readonly keys: webcrypto.CryptoKeyPair,
  ) {}

  static async create(name = 'Test authority'): Promise<Authority> {
    const keys = await keyPair();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: '01',
      name: `CN=${name}`,
      keys,
      signingAlgorithm: algorithm,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + 30 * DAY_MS),
      extensions: [
        new x509.BasicConstraintsExtension(true, 1, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority(certificate, keys);
  }

  get certPem(): string {
    return this.certificate.toString('pem');
  }

  /** Issues a certificate, for localhost, 127.0.0.1 and ::1 unless other names are given. */
  async issue(name: string, options: CertificateOptions = {}): Promise<Identity> {
    const keys = await keyPair();
    this.serial += 1;
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: this.serial.toString(16).padStart(4, '0'),
      subject: `CN=${name}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: algorithm,
      ...validity(options),
      extensions: leafExtensions(options),
    });
    return { certPem: certificate.toString('pem'), keyPem: await privateKeyPem(keys) };
  }
}

export async function selfSigned(name: string, options: CertificateOptions = {}): Promise<Identity> {
  const keys = await keyPair();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    ...validity(options),
    extensions: leafExtensions(options),
  });
  return { certPem: certificate.toString('pem'), keyPem: await privateKeyPem(keys) };
}

/** Creates the certificates for the TLS tests: valid certificates, and certificates with one fault each. */
export async function testCertificates() {
  const authority = await Authority.create();
  const otherAuthority = await Authority.create('Another authority');
  return {
    authority,
    otherAuthority,
    good: await authority.issue('localhost'),
    wrongHost: await authority.issue('elsewhere.example', { dnsNames: ['elsewhere.example'], addresses: [] }),
    expired: await authority.issue('localhost', {
      notBefore: new Date(Date.now() - 10 * DAY_MS),
      notAfter: new Date(Date.now() - DAY_MS),
    }),
    selfSigned: await selfSigned('localhost'),
    client: await authority.issue('notifier', { usage: 'client', dnsNames: [], addresses: [] }),
    foreignClient: await otherAuthority.issue('notifier', { usage: 'client', dnsNames: [], addresses: [] }),
  };
}

function keyPair(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function privateKeyPem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return x509.PemConverter.encode(der, 'PRIVATE KEY');
}

function validity({ notBefore, notAfter }: CertificateOptions) {
  return {
    notBefore: notBefore ?? new Date(Date.now() - DAY_MS),
    notAfter: notAfter ?? new Date(Date.now() + 30 * DAY_MS),
  };
}

function leafExtensions({ dnsNames, addresses, usage }: CertificateOptions): x509.Extension[] {
  const names: x509.JsonGeneralNames = [
    ...(dnsNames ?? ['localhost']).map((value) => ({ type: 'dns' as const, value })),
    ...(addresses ?? ['127.0.0.1', '::1']).map((value) => ({ type: 'ip' as const, value })),
  ];
  const purpose = usage === 'client' ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth;
  return [
    new x509.BasicConstraintsExtension(false),
    new x509.ExtendedKeyUsageExtension([purpose]),
    ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
  ];
}
