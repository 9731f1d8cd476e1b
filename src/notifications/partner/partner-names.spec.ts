import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PartnerNames } from './partner-names.js';

/**
 * A name server that does not answer for names that begin with `silent`. Other known names have an address of each
 * family.
 */
class NameServer {
  readonly questions: string[] = [];
  private readonly socket: Socket = createSocket('udp4');

  async start(): Promise<string> {
    this.socket.on('message', (question, from) => {
      const name = nameIn(question);
      this.questions.push(name);
      if (!name.startsWith('silent')) this.socket.send(answerTo(question, name), from.port, from.address);
    });
    await new Promise<void>((resolve) => this.socket.bind(0, '127.0.0.1', resolve));
    return `127.0.0.1:${this.socket.address().port}`;
  }

  stop(): void {
    this.socket.close();
  }
}

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; question[at] !== 0; at += question[at] + 1)
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]));
  return labels.join('.').toLowerCase();
}

function answerTo(question: Buffer, name: string): Buffer {
  const end = 12 + Buffer.byteLength(name) + 2 + 4;
  const asked = question.subarray(12, end);
  const six = asked.readUInt16BE(asked.length - 4) === 28;
  const known = !name.startsWith('nowhere') && !(six && name.startsWith('four'));
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(name.startsWith('nowhere') ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(known ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const address = six ? Buffer.from('20010db8000000000000000000000007', 'hex') : Buffer.from([192, 0, 2, 7]);
  const record = Buffer.from([0xc0, 12, 0, six ? 28 : 1, 0, 1, 0, 0, 0, 60, 0, address.length]);
  return Buffer.concat(known ? [head, asked, record, address] : [head, asked]);
}

describe('PartnerNames', () => {
  let server: NameServer;
  let names: PartnerNames;
  const hosts = join(mkdtempSync(join(tmpdir(), 'hosts-')), 'hosts');

  beforeEach(async () => {
    server = new NameServer();
    writeFileSync(hosts, '127.0.0.9 listed.example other.example # not.example\n::9 listed.example\n');
    names = new PartnerNames([await server.start()], hosts);
  });
  afterEach(() => server.stop());

  it('resolves a host name to IPv6 and IPv4 addresses, in alternating order', async () => {
    expect(await names.lookup('both.example')).toEqual(['2001:db8::7', '192.0.2.7']);
    expect(await names.lookup('four.example')).toEqual(['192.0.2.7']);
  });

  it('caches the addresses of a host name, and resolves the name once for all simultaneous requests', async () => {
    await Promise.all([names.lookup('both.example'), names.lookup('BOTH.example')]);
    await names.lookup('both.example');
    expect(server.questions).toHaveLength(2);
  });

  it('reports the reason why a host name has no address', async () => {
    await expect(names.lookup('nowhere.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('looks up a host name in the hosts file first, and resolves localhost even without this file', async () => {
    expect(await names.lookup('Listed.example')).toEqual(['127.0.0.9', '::9']);
    expect(await names.lookup('localhost')).toEqual(['127.0.0.1', '::1']);
    expect(server.questions).toEqual([]);
  });

  it('resolves a host name without delay while any number of other names wait for a silent name server', async () => {
    const abandons = Array.from({ length: 50 }, () => new AbortController());
    const silent = abandons.map(({ signal }, number) => names.lookup(`silent${number}.example`, signal));
    const failures = Promise.allSettled(silent);
    let ended = 0;
    for (const one of silent) one.catch(() => (ended += 1));
    expect(await names.lookup('both.example')).toHaveLength(2);
    expect(ended).toBe(0);
    for (const abandon of abandons) abandon.abort();
    expect((await failures).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('the look-up of a host name fails when the name server does not answer', async () => {
    await expect(names.lookup('silent.example')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  }, 20_000);
});
