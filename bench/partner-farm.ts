/**
 * Simulates many partners in one process. Each partner is a path on one HTTPS server. The host names of some partners
 * can be resolved only by a name server in the same process.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Authority } from '../test/support/certificates.js';

/** The domain of the partners whose names only the farm's name server can resolve. */
const DOMAIN = 'partners.example';

interface Arrival {
  booking: string;
  /** The time at which the notification arrived, in milliseconds since 1970, with fractions. */
  at: number;
}

export class PartnerFarm {
  /** The arrivals of notifications at the partners that answer. */
  arrivals: Arrival[] = [];
  /** The number of connections that were accepted since the start. */
  connections = 0;
  /** Whether the partners below `/hanging/` and the name server leave all requests unanswered. */
  hasTrouble = false;

  private constructor(
    readonly caPem: string,
    private readonly server: Server,
    private readonly names: Socket,
  ) {}

  static async start(): Promise<PartnerFarm> {
    const authority = await Authority.create();
    const { certPem, keyPem } = await authority.issue('localhost', { dnsNames: ['localhost', `*.${DOMAIN}`] });
    const [server, names] = [createServer({ cert: certPem, key: keyPem }), createSocket('udp4')];
    const farm = new PartnerFarm(authority.certPem, server, names);
    server.keepAliveTimeout = 0;
    server.on('secureConnection', () => (farm.connections += 1));
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const at = performance.timeOrigin + performance.now();
        if (request.url!.startsWith('/hanging/') && farm.hasTrouble) return;
        response.writeHead(200, { 'content-length': 0 }).end();
        if (!request.url!.startsWith('/well/')) return;
        const { booking_code } = JSON.parse(Buffer.concat(chunks).toString()) as { booking_code: string };
        farm.arrivals.push({ booking: booking_code, at });
      });
    });
    names.on('message', (question, { port, address }) => {
      if (!farm.hasTrouble) names.send(answerTo(question), port, address);
    });
    server.listen(0, '127.0.0.1');
    names.bind(0, '127.0.0.1');
    await Promise.all([once(server, 'listening'), once(names, 'listening')]);
    return farm;
  }

  /** The address of the farm's name server. */
  get nameServer(): string {
    return `127.0.0.1:${this.names.address().port}`;
  }

  /**
   * Returns the address of a partner. A partner of the kind `well` always answers. A partner of the kind `hanging`
   * hangs while `hasTrouble` is true. The host name of a partner of the kind `named` can be resolved only by the farm's
   * name server.
   */
  url(kind: 'well' | 'hanging' | 'named', n: number): string {
    const { port } = this.server.address() as AddressInfo;
    return `https://${kind === 'named' ? `n${n}.${DOMAIN}` : '127.0.0.1'}:${port}/${kind}/${n}`;
  }

  /** Closes all connections to the partners, so that the service must connect again. */
  dropConnections(): void {
    this.server.closeAllConnections();
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
    this.names.close();
  }
}

/**
 * Builds the response to a DNS query (RFC 1035 §4): 127.0.0.1 for a query of type A, and no record for any other type.
 * The TTL of the record is 0, so that the response is not cached.
 */
function answerTo(question: Buffer): Buffer {
  const end = question.indexOf(0, 12) + 5;
  const isA = question.readUInt16BE(end - 4) === 1;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(isA ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([head, question.subarray(12, end), ...(isA ? [record] : [])]);
}
