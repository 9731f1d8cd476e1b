/**
 * What the change feed costs: a page of 200 entries on many changes to one on few, and a create that tells the feed to one
 * whose entry is thrown away. Two services side by side, called in turn.
 *
 * usage: npm run build && node dist/bench/changes.js [--few 10000] [--many 10000000] [--rounds 5] [--calls 400]
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writePosition } from '../src/changes/changes.dto.js';
import { sealCursor, useCursorKeys } from '../src/platform/http/cursor.js';
import { runCommand } from './command.js';
import { Caller, inTurn, type Call } from './calls.js';
import { median, quantile, round } from './figures.js';
import { createBody } from './scene.js';
import { BenchedService } from './service.js';
import { Stage } from './stage.js';

const SECRET = randomBytes(32);
useCursorKeys([SECRET]);
const BATCH = 500_000;
const PAGE = 200;

/** $1 account, $2 test, $3 and $4 numbers. A transaction wrote ten of them. */
const SEED = `INSERT INTO changes (account_code, kind, generation, xid, recorded_at, at, change, svc_eligiblity_id, candidate_id,
    test_code, status)
  SELECT $1, (ARRAY['ELIGIBILITY', 'BOOKING', 'RESULT'])[1 + n % 3], 1, n / 10, now(), now(), 'UPDATED',
    upper(lpad(to_hex(n), 8, '0')), 'seeded-' || n, $2, 'ELIGIBLE'
  FROM generate_series($3::int, $4::int) AS n`;

/** Where a create's entry goes no further. */
const THROW_AWAY = [
  'ALTER TABLE changes RENAME TO changes_kept',
  'CREATE VIEW changes AS SELECT * FROM changes_kept',
  `CREATE FUNCTION throw_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  'CREATE TRIGGER throw_away INSTEAD OF INSERT ON changes FOR EACH ROW EXECUTE FUNCTION throw_away()',
];

async function open(stage: Stage, database: string): Promise<{ service: BenchedService; caller: Caller }> {
  const service = await BenchedService.start(join(stage.folder, database), await stage.createDatabase(database), {
    ROLES: 'api',
    SECRETS_KEY: SECRET.toString('base64'),
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
  await stage.withDatabase(database, async (client) => {
    for (let from = 1; from <= count; from += BATCH)
      await client.query(SEED, [accountCode, testCode, from, Math.min(count, from + BATCH - 1)]);
  });
  await stage.settle(database);
  const seconds = Math.floor(Date.now() / 1000);
  return (call) => {
    const xid = ((call * 7919) % (count - PAGE)) / 10;
    const position = { generation: 1, xid: Math.floor(xid), position: 0, recordedS: seconds, givenS: seconds };
    const after = sealCursor(writePosition(position));
    return caller.call('GET', `/accounts/${accountCode}/changes?limit=${PAGE}&after=${after}`);
  };
}

async function creates(stage: Stage, database: string, isTold: boolean): Promise<Call> {
  const { service, caller } = await open(stage, database);
  if (!isTold)
    await stage.withDatabase(database, async (client) => {
      for (const statement of THROW_AWAY) await client.query(statement);
    });
  const { scene } = service;
  return (call) => caller.call('POST', `/accounts/${scene.accountCode}/candidates`, createBody(scene, `c-${call}`));
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
  return `${round(median(ratios))} (${round(Math.min(...ratios))} to ${round(Math.max(...ratios))})`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      few: { type: 'string', default: '10000' },
      many: { type: 'string', default: '10000000' },
      rounds: { type: 'string', default: '5' },
      calls: { type: 'string', default: '400' },
    },
  });
  const [few, many, rounds, calls] = [values.few, values.many, values.rounds, values.calls].map(Number);
  const stage = await Stage.open();
  const print = (name: string, value: string, goal: string) =>
    process.stdout.write(`${name.padEnd(56)} ${value}   goal: at most ${goal}\n`);
  try {
    const told = await creates(stage, 'told', true);
    print(
      'create to one whose entry is thrown away',
      await ratio(told, await creates(stage, 'untold', false), rounds, calls),
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
