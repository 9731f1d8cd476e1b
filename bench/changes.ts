/**
 * What the change feed costs: the processor time of a create, the service's and PostgreSQL's, that tells the feed to that of one
 * which does not, and a page of 200 entries on many changes to one on few. Two services side by side, called in turn.
 *
 * usage: npm run build && node dist/bench/changes.js [--few 10000] [--many 10000000] [--rounds 9] [--creates 2000] [--calls 400]
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writePosition } from '../src/changes/changes.dto.js';
import { sealCursor, useCursorKeys } from '../src/platform/http/cursor.js';
import { runCommand } from './command.js';
import { Caller, inTurn, type Call } from './calls.js';
import { median, quantile, round } from './figures.js';
import { withProcessorTime } from './processor-time.js';
import { createBody } from './scene.js';
import { withoutIndexes } from './seed.js';
import { BenchedService } from './service.js';
import { Stage } from './stage.js';

const SECRET = randomBytes(32);
useCursorKeys([SECRET]);
const BATCH = 500_000;
const PAGE = 200;

/** $1 account, $2 test, $3 and $4 numbers, $5 seconds since 1970. A transaction wrote ten of them. */
const SEED = `INSERT INTO changes (account_code, kind, generation, xid, position, recorded_at, at, change, svc_eligiblity_id,
    candidate_id, test_code, status)
  SELECT $1, (ARRAY['ELIGIBILITY', 'BOOKING', 'RESULT'])[1 + n % 3], 1, n / 10, n, to_timestamp($5), now(), 'UPDATED',
    upper(lpad(to_hex(n), 8, '0')), 'seeded-' || n, $2, 'ELIGIBLE'
  FROM generate_series($3::int, $4::int) AS n`;

async function open(
  stage: Stage,
  database: string,
  env: Record<string, string> = {},
): Promise<{ service: BenchedService; caller: Caller }> {
  const service = await BenchedService.start(join(stage.folder, database), await stage.createDatabase(database), {
    ROLES: 'api',
    SECRETS_KEY: SECRET.toString('base64'),
    ...env,
  });
  stage.onClear(() => service.stop());
  const caller = new Caller(service.url, await service.clientToken(), 8);
  stage.onClear(() => caller.close());
  return { service, caller };
}

/** Pages that begin anywhere in the feed. */
async function pages(stage: Stage, database: string, count: number): Promise<Call> {
  const { service, caller } = await open(stage, database);
  const { accountCode, testCode } = service.scene;
  const seconds = Math.floor(Date.now() / 1000);
  await stage.withDatabase(database, async (client) => {
    await withoutIndexes(client, ['changes'], async () => {
      for (let from = 1; from <= count; from += BATCH)
        await client.query(SEED, [accountCode, testCode, from, Math.min(count, from + BATCH - 1), seconds]);
    });
  });
  await stage.settle(database);
  return (call) => {
    const position = 1 + ((call * 7919) % (count - PAGE));
    const entry = { generation: 1, xid: Math.floor(position / 10), position, recordedUs: seconds * 1_000_000 };
    const after = sealCursor(writePosition({ ...entry, toldS: seconds, givenS: seconds }));
    return caller.call('GET', `/accounts/${accountCode}/changes?limit=${PAGE}&after=${after}`);
  };
}

interface Creates {
  service: BenchedService;
  create: Call;
}

async function creates(stage: Stage, database: string, isTold: boolean): Promise<Creates> {
  const { service, caller } = await open(
    stage,
    database,
    isTold ? {} : { NODE_OPTIONS: `--require ${join(__dirname, 'without-feed.js')}` },
  );
  const { scene } = service;
  return {
    service,
    create: (call) => caller.call('POST', `/accounts/${scene.accountCode}/candidates`, createBody(scene, `c-${call}`)),
  };
}

/** The ratio of their processor times: the median of the rounds, and their smallest and largest. */
async function costs(stage: Stage, both: readonly [Creates, Creates], rounds: number, count: number): Promise<string> {
  const postmaster = await stage.postmaster();
  const cost = async ({ service, create }: Creates, from: number) => {
    let next = from;
    const caller = async () => {
      while (next < from + count) await create(next++);
    };
    const [, { all }] = await withProcessorTime({ all: [service.pid, postmaster] }, () =>
      Promise.all(Array.from({ length: 8 }, caller)),
    );
    return all;
  };
  const ratios: number[] = [];
  // Round 0 warms up; neither is always the first.
  for (let number = 0; number <= rounds; number++) {
    const order = number % 2 === 0 ? [0, 1] : [1, 0];
    const seconds = [0, 0];
    for (const which of order) seconds[which] = await cost(both[which], number * count);
    if (number > 0) ratios.push(seconds[0] / seconds[1]);
  }
  return spread(ratios);
}

function spread(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(3)} (${round(Math.min(...ratios))} to ${round(Math.max(...ratios))})`;
}

/** The ratio of the first call's p50 to the second's: the median of the rounds, and their smallest and largest. */
async function ratio(first: Call, second: Call, rounds: number, calls: number): Promise<string> {
  const ratios: number[] = [];
  // Round 0 warms up.
  for (let number = 0; number <= rounds; number++) {
    const from = number * calls;
    const [one, other] = await inTurn(calls, 4, [(call) => first(from + call), (call) => second(from + call)]);
    if (number > 0) ratios.push(quantile(one, 0.5) / quantile(other, 0.5));
  }
  return spread(ratios);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      few: { type: 'string', default: '10000' },
      many: { type: 'string', default: '10000000' },
      rounds: { type: 'string', default: '9' },
      creates: { type: 'string', default: '2000' },
      calls: { type: 'string', default: '400' },
    },
  });
  const numbers = [values.few, values.many, values.rounds, values.creates, values.calls].map(Number);
  const [few, many, rounds, count, calls] = numbers;
  const stage = await Stage.open();
  const print = (name: string, value: string, goal: string) =>
    process.stdout.write(`${name.padEnd(56)} ${value}   goal: at most ${goal}\n`);
  try {
    const told = await creates(stage, 'told', true);
    const untold = await creates(stage, 'untold', false);
    print(
      'processor time of a create to one that tells no feed',
      await costs(stage, [told, untold], rounds, count),
      '1.03',
    );
    await stage.clear();
    const large = await pages(stage, 'many', many);
    print(
      `page of ${PAGE} on ${many} changes to one on ${few}`,
      await ratio(large, await pages(stage, 'few', few), rounds, calls),
      '1.15',
    );
  } finally {
    await stage.close();
  }
}

runCommand(main);
