import { startApp, type TestApp } from '../support/app';
import { rawCall } from '../support/raw-http';
import { siteBooking } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let operator: string;
let known: string[];

beforeAll(async () => {
  app = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '0', NOTIFICATION_WAIT_MS: '200' } });
  scene = await app.given.scene();
  operator = await app.given.operator();
  const record = await app.given.eligibility(scene, { voucher_codes: [await app.given.voucher(scene.account)] });
  const booking = await app.given.booking(scene, record);
  known = [
    ...[
      scene.account,
      scene.testCode,
      record['candidate'].candidate_id as string,
      record['svc_eligiblity_id'] as string,
    ],
    booking['booking_code'] as string,
  ];
});
afterAll(() => app.close());

const SEED = 20_270_131;
const REQUESTS = 2000;

/** Generates random numbers with mulberry32. The same seed therefore gives the same requests in every run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomOf(SEED);
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)];

const SEGMENTS = [
  ...['x', '%00', '%FF', '%2F', '%5C', '..', '%2e%2e', 'ABCDEFGH', 'ABCDEFGHJK', '0', '-1', '9007199254740993'],
  ...[
    '00000000-0000-0000-0000-000000000000',
    '%F0%9F%98%80',
    "'--",
    '%22%3B',
    '__proto__',
    'constructor',
    'null',
    '%E2%80%8F',
  ],
  ...['x'.repeat(2000), '%0D%0AX:y', '{{7*7}}', '%25s%25n', 'NaN', '1e309', '*', '(', '[', '%20'],
];
const TEXTS = [
  ...[
    '',
    ' ',
    '\u0000',
    '\ud800',
    '\u200f',
    'x'.repeat(1001),
    '2027-02-30T00:00:00Z',
    '2027-01-01T00:00:00Z',
    'US',
    "' OR 1=1 --",
  ],
  ...['__proto__', 'https://127.0.0.1/', 'javascript:1', '１２', '{}', 'true', '\\u0000', '😀', '%s', '9'.repeat(400)],
];
const NAMES = [
  ...[
    'candidate',
    'test_code',
    'first_name',
    'voucher_codes',
    'portion_codes',
    'additional_attributes',
    'eligibility_end_date',
  ],
  ...[
    'status',
    '__proto__',
    'constructor',
    'toString',
    'length',
    'booking_on',
    'delivery_mode',
    'excused',
    'examMetaData',
    'result_id',
  ],
  ...[
    'partner_url',
    'auth',
    'portions',
    'scopes',
    'filter',
    'reason',
    'limit',
    'password',
    'account_codes',
    'discount_value',
    'name',
  ],
];
const QUERIES = [
  'status',
  'limit',
  'cursor',
  'test_code',
  'updated_since',
  'from',
  'to',
  'http_status',
  'account_code',
  'retry',
  'actor',
];

function anyValue(depth = 0): unknown {
  const kind = Math.floor(random() * (depth > 3 ? 6 : 9));
  if (kind < 2) return pick(TEXTS);
  if (kind === 2) return pick([0, -0, -1, 1.5, 1e308, 2 ** 53, 12]);
  if (kind === 3) return pick([true, false, null]);
  if (kind === 4) return pick(known);
  if (kind === 5) return pick([[], {}]);
  if (kind === 6) return Array.from({ length: Math.floor(random() * 4) }, () => anyValue(depth + 1));
  return Object.fromEntries(Array.from({ length: Math.floor(random() * 6) }, () => [pick(NAMES), anyValue(depth + 1)]));
}

/** Returns a body that is valid except for one or two members. */
function spoilt(): unknown {
  const body = pick<Record<string, any>>([app.given.eligibilityBody(scene.testCode), siteBooking(), { excused: true }]);
  for (let count = 1 + Math.floor(random() * 2); count > 0; count--) {
    const candidate: unknown = body['candidate'];
    const isMember = random() < 0.5 && typeof candidate === 'object' && candidate !== null;
    const target = isMember ? (candidate as Record<string, unknown>) : body;
    target[pick([...Object.keys(target), ...NAMES])] = anyValue();
  }
  return body;
}

function anyBody(): string | undefined {
  const roll = random();
  if (roll < 0.1) return undefined;
  if (roll < 0.2)
    return pick(['', '{', '[]', 'null', '"x"', '1', '{"a":', '\ufeff{}', '[[[[', 'a=b&c=d', '{"a":1}{"b":2}']);
  return JSON.stringify(roll < 0.6 ? spoilt() : anyValue());
}

interface Shape {
  method: string;
  template: string;
}

const shapes = async (): Promise<Shape[]> => {
  const { body } = await app.call('GET', '/openapi.json');
  // The console's event stream is not called, because its response never ends.
  const paths = Object.entries(body.paths as Record<string, object>).filter(([path]) => path !== '/admin/events');
  return paths.flatMap(([template, item]) =>
    Object.keys(item).map((method) => ({ method: method.toUpperCase(), template })),
  );
};

it(`${REQUESTS} random malformed requests to all routes cause no 5xx, and the service keeps responding`, async () => {
  const routes = await shapes();
  const statuses: Record<number, number> = {};
  const failures: string[] = [];
  const one = async (): Promise<void> => {
    const { method, template } = pick(routes);
    const path = template.replaceAll(/\{(\w+)\}/g, (_whole, name) =>
      random() < 0.5 && name === 'account_code' ? scene.account : encodeOnce(pick(random() < 0.5 ? SEGMENTS : known)),
    );
    const query =
      random() < 0.3 ? `?${pick(QUERIES)}=${pick(SEGMENTS)}&${pick(QUERIES)}=${encodeURIComponent(pick(known))}` : '';
    const body = method === 'GET' ? undefined : anyBody();
    const headers: Record<string, string> = {
      authorization: `Bearer ${random() < 0.05 ? 'x' : random() < 0.5 ? scene.token : operator}`,
      ...(random() < 0.95
        ? {
            'content-type':
              random() < 0.95 ? 'application/json' : pick(['text/plain', 'x', 'application/json;charset=utf-7']),
          }
        : {}),
      ...(random() < 0.2 ? { 'idempotency-key': pick(['k1', 'k2', '\u00e9', 'x'.repeat(300)]) } : {}),
    };
    const answer = await rawCall(app.url, method, path + query, { headers, chunks: body === undefined ? [] : [body] });
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    if (answer.status >= 500) failures.push(`${method} ${path}${query} ${body} → ${answer.status} ${answer.text}`);
    else if (answer.status >= 400 && !/^\/(token|revoke|introspect)/.test(path)) {
      if (!isProblem(answer.text))
        failures.push(`${method} ${path}${query} → ${answer.status}, no problem: ${answer.text}`);
    }
  };
  for (let done = 0; done < REQUESTS; done += 8) await Promise.all(Array.from({ length: 8 }, one));
  expect(failures).toEqual([]);
  expect(statuses[400]).toBeGreaterThan(REQUESTS / 10);
  expect((await app.call('GET', '/health/ready')).status).toBe(200);
  expect((await app.given.eligibility(scene))['status']).toBe('ELIGIBLE');
}, 240_000);

function isProblem(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { code?: unknown }).code === 'string';
  } catch {
    return false;
  }
}

/** Encodes the characters that Node refuses in a request line, and keeps all others unchanged. */
function encodeOnce(segment: string): string {
  return segment.replaceAll(/[^\u0021-\u007e]/g, (character) => encodeURIComponent(character));
}
