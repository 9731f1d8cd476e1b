import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { MemoryStore, NotificationReceiver, parseNotification, UnknownRecord } from '../../clients/partner/src/index';
import { judge } from '../../clients/partner/src/conformance/judge';
import { PartnerEndpoint } from '../../clients/partner/src/conformance/partner-endpoint';
import { Scene } from '../../clients/partner/src/conformance/scene';
import { SITUATIONS } from '../../clients/partner/src/conformance/situations';
import { receiver } from '../support/documented-receiver';
import { startPartner, type Partner, type PartnerRequest } from '../support/partner';

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const KNOWN = { candidateId: 'ADA-1', examCode: 'EXAM-ONE' };

type Headers = PartnerRequest['headers'];
type Answer = { status: number; headers?: Record<string, string> };
type Answering = (headers: Headers, body: Buffer) => Promise<Answer> | Answer;

let partner: Partner | undefined;

afterEach(() => partner?.stop());

/** Returns the titles of the faults that the conformance program finds in the given partner. */
async function foundIn(answering: Answering, waitMs = 5000): Promise<string[]> {
  partner = await startPartner();
  partner.answer(({ headers, raw }) => answering(headers, raw));
  const endpoint = new PartnerEndpoint({ url: partner.url, caPem: partner.caPem, headers: {}, waitMs });
  const wrong: string[] = [];
  for await (const { title, fault } of judge(new Scene(endpoint, SECRET, KNOWN))) if (fault !== null) wrong.push(title);
  endpoint.close();
  return wrong;
}

/** Builds a correct partner from the npm package. The partner accepts notifications about only one candidate. */
function good(): Answering {
  const receiver = new NotificationReceiver({
    secrets: SECRET,
    store: new MemoryStore(),
    work: ({ candidate_id }) =>
      candidate_id === KNOWN.candidateId ? Promise.resolve() : Promise.reject(new UnknownRecord()),
  });
  return (headers, body) => receiver.receive(headers, body);
}

const titled = (...patterns: RegExp[]) =>
  SITUATIONS.map(({ title }) => title).filter((title) => patterns.some((pattern) => pattern.test(title)));

/** Partners with one fault each, and the findings that the conformance program must report for each partner. */
const faulty: [string, (partner: Answering) => Answering, string[]][] = [
  [
    'does not look at signatures',
    () => (headers, body) => {
      try {
        if (headers['content-type'] !== 'application/json') return { status: 415 };
        parseNotification(JSON.parse(body.toString()));
        return { status: 200 };
      } catch {
        return { status: 400 };
      }
    },
    titled(/not yours/, /differs from the signed/, /missing header/, /malformed signatures/, /ten minutes/),
  ],
  [
    'does not look at the timestamp',
    (partner) => async (headers, body) => {
      const answer = await partner(headers, body);
      const off = Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) > 300;
      return answer.status === 401 && off ? { status: 200 } : answer;
    },
    titled(/ten minutes/),
  ],
  [
    'crashes without a signature',
    (partner) => (headers, body) => {
      if (headers['webhook-signature'] === undefined) throw new Error('undefined.split');
      return partner(headers, body);
    },
    titled(/missing header/),
  ],
  [
    'reads the first signature alone',
    (partner) => (headers, body) =>
      partner({ ...headers, 'webhook-signature': String(headers['webhook-signature']).split(' ')[0] }, body),
    titled(/two signatures/),
  ],
  [
    'verifies the body after it parsed and serialised it',
    (partner) => (headers, body) => {
      try {
        return partner(headers, Buffer.from(JSON.stringify(JSON.parse(body.toString()))));
      } catch {
        return { status: 400 };
      }
    },
    titled(/unusual characters/),
  ],
  [
    'answers 409 to a repeat',
    (partner) => {
      const seen = new Set<string>();
      return async (headers, body) => {
        const answer = await partner(headers, body);
        const id = String(headers['webhook-id']);
        if (answer.status === 200 && seen.has(id)) return { status: 409 };
        seen.add(id);
        return answer;
      };
    },
    titled(/^a repeat/, /^a replay/),
  ],
  [
    'answers 400 to a late notification',
    (partner) => {
      const last = new Map<string, number>();
      return async (headers, body) => {
        const answer = await partner(headers, body);
        if (answer.status !== 200) return answer;
        const { booking_code } = JSON.parse(body.toString()) as { booking_code: string };
        const sequence = Number(headers['event-sequence']);
        const late = sequence < (last.get(booking_code) ?? 0);
        last.set(booking_code, Math.max(sequence, last.get(booking_code) ?? 0));
        return late ? { status: 400 } : answer;
      };
    },
    titled(/^an earlier notification/, /^a late resend/, /^a replay/),
  ],
  [
    'waits for numbers that are missing',
    (partner) => async (headers, body) => {
      const answer = await partner(headers, body);
      return answer.status === 200 && Number(headers['event-sequence']) > 3 ? { status: 409 } : answer;
    },
    titled(/missing sequence numbers/),
  ],
  [
    'refuses members that are new',
    (partner) => (headers, body) => (body.includes('seat_number') ? { status: 400 } : partner(headers, body)),
    titled(/unknown members/),
  ],
  [
    'wants a site of every exam',
    (partner) => (headers, body) =>
      body.includes('"candidate_id"') && !body.includes('location_code') ? { status: 400 } : partner(headers, body),
    titled(/omitted members/, /remote exam/),
  ],
  [
    'does not know EXCUSED_ABSENT',
    (partner) => (headers, body) => (body.includes('EXCUSED_ABSENT') ? { status: 400 } : partner(headers, body)),
    titled(/^EXCUSED_ABSENT$/),
  ],
  [
    'refuses large bodies',
    (partner) => (headers, body) => (body.length > 10_000 ? { status: 413 } : partner(headers, body)),
    titled(/large body/),
  ],
  [
    'answers 500 to a malformed or unknown notification',
    (partner) => async (headers, body) => {
      const answer = await partner(headers, body);
      return answer.status === 400 || answer.status === 415 ? { status: 500 } : answer;
    },
    titled(/unknown candidate/, /not a notification/, /content type/),
  ],
  [
    'accepts any content type',
    (partner) => (headers, body) => partner({ ...headers, 'content-type': 'application/json' }, body),
    titled(/content type/),
  ],
  [
    'compresses its answers',
    (partner) => async (headers, body) => ({
      ...(await partner(headers, body)),
      headers: { 'content-encoding': 'gzip' },
    }),
    titled(/compression/),
  ],
  [
    'answers 202',
    (partner) => async (headers, body) => {
      const answer = await partner(headers, body);
      return answer.status === 200 ? { status: 202 } : answer;
    },
    titled(/^the sample/, /^BOOKING_CREATED$/, /same moment/, /small chunks/),
  ],
  [
    'refuses the sample',
    (partner) => (headers, body) => (body.includes('SAMPLE') ? { status: 400 } : partner(headers, body)),
    titled(/^the sample/),
  ],
];

describe('npm run conformance', () => {
  it('npm run conformance finds no fault in a partner that uses the partner package', async () => {
    expect(await foundIn(good())).toEqual([]);
  });

  it('npm run conformance finds no fault in a partner that uses the receiver in docs/notifications.md', async () => {
    const server = receiver({ secret: SECRET, store: () => Promise.resolve() }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/notifications`;
    const passOn: Answering = async (received, body) => {
      const sent = Object.entries(received).filter(([name]) => /^(content-type|webhook-.*|event-sequence)$/.test(name));
      const headers = Object.fromEntries(sent) as Record<string, string>;
      const { status } = await fetch(url, { method: 'PUT', headers, body });
      return { status };
    };
    try {
      expect(await foundIn(passOn)).toEqual([]);
    } finally {
      server.close();
    }
  });

  it.each(faulty)('npm run conformance reports the fault of a partner that %s', async (_title, spoil, expected) => {
    expect(expected.length).toBeGreaterThan(0);
    expect(await foundIn(spoil(good()))).toEqual(expect.arrayContaining(expected));
  });

  it('npm run conformance reports a partner that handles requests one after another', async () => {
    let turns = Promise.resolve();
    const partner = good();
    const slow: Answering = (headers, body) => {
      const turn = turns.then(() => new Promise<void>((done) => setTimeout(done, 100)));
      turns = turn;
      return turn.then(() => partner(headers, body));
    };
    expect(await foundIn(slow, 1000)).toEqual(titled(/same moment/));
  });

  it('npm run conformance reports a partner that cannot be reached, or whose certificate is not trusted', async () => {
    const scene = (url: string) => new Scene(new PartnerEndpoint({ url, headers: {}, waitMs: 5000 }), SECRET, KNOWN);
    const { value } = await judge(scene('https://localhost:1')).next();
    expect(value).toMatchObject({ fault: 'no answer: ECONNREFUSED' });
    partner = await startPartner();
    const untrusted = await judge(scene(partner.url)).next();
    expect(untrusted.value).toMatchObject({ fault: expect.stringMatching(/^no answer: .*(CERT|SIGNATURE|ISSUER)/) });
    expect(() => scene('http://partner.example')).toThrow(TypeError);
  });

  it('npm run conformance prints its options, and ends with one line if the partner cannot be reached', () => {
    const conformance = (...options: string[]) =>
      spawnSync(process.execPath, ['scripts/start.mjs', 'conformance', ...options], { encoding: 'utf8' });
    expect(conformance('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--candidate ID') });
    expect(conformance('--url', 'https://localhost:1', '--secret', SECRET)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The partner at https:\/\/localhost:1 cannot be reached .*--ca\.\n$/),
    });
  });

  it('npm run conformance cites only sentences that docs/notifications.md contains', () => {
    const plain = (text: string) => text.replace(/[`*]/g, '').replace(/\s+/g, ' ');
    const document = plain(readFileSync(join(__dirname, '../../docs/notifications.md'), 'utf8'));
    expect(SITUATIONS.filter(({ sentence }) => !document.includes(plain(sentence)))).toEqual([]);
    expect(new Set(SITUATIONS.map(({ title }) => title)).size).toBe(SITUATIONS.length);
  });
});
