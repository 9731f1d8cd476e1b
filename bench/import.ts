/**
 * How fast a file of eligibilities comes in: rows a second to those of single calls and to COPY into the same tables, the
 * processor time of a row, what single calls notice of an import beside them, and how much memory it takes, at what part of the
 * way. A service and a PostgreSQL of its own.
 *
 * usage: npm run build && node dist/bench/import.js [--rows 100000] [--rounds 3] [--seconds 10]
 * `--rounds 0` leaves out the calls beside an import.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runCommand } from './command.js';
import { atRate, Caller } from './calls.js';
import { isMet, median, quantile, round, type Figure } from './figures.js';
import { Imports, type ImportState } from './imports.js';
import { Load } from './load.js';
import { processorSeconds, residentMiB } from './processor-time.js';
import { createBody } from './scene.js';
import { clearEligibilities } from './seed.js';
import { BenchedService } from './service.js';
import { Stage } from './stage.js';

const CALLS_PER_SECOND = 50;
/** More than are done beside calls in a round. */
const MOST_BESIDE = 100_000;
const LOOK_MS = 100;
const DATABASE = 'imports';
/** What a row of an import writes. */
const TABLES = ['eligibilities', 'audit_log', 'changes'];

/** The largest resident set while something is done, in MiB. */
async function peakDuring<T>(service: BenchedService, work: Promise<T>): Promise<{ value: T; peak: number }> {
  let ended = false;
  const value = work.finally(() => (ended = true));
  let peak = 0;
  while (!ended) {
    peak = Math.max(peak, residentMiB(service.pid));
    await Promise.race([pause(LOOK_MS), value.catch(() => undefined)]);
  }
  return { value: await value, peak };
}

/** Until the import has ended; says on its way how long it has taken and how much memory the service has. */
async function watched(service: BenchedService, imports: Imports, id: string, rows: number): Promise<ImportState> {
  const shares = [0.1, 0.5, 1];
  const begun = performance.now();
  for (;;) {
    const now = await imports.state(id);
    while (shares.length > 0 && now.done >= shares[0] * rows)
      process.stderr.write(
        `at ${shares.shift()! * 100} %: ${round((performance.now() - begun) / 1000)} s, ${round(residentMiB(service.pid))} MiB\n`,
      );
    if (now.state === 'DONE') return now;
    await pause(LOOK_MS);
  }
}

/** Rows a second of COPY, which writes into empty tables what the import wrote. */
async function copy(stage: Stage, rows: number): Promise<number> {
  const folder = join(stage.folder, 'copy');
  mkdirSync(folder);
  // The server may run as another user.
  chmodSync(folder, 0o777);
  return stage.withDatabase(DATABASE, async (client) => {
    for (const table of TABLES)
      await client.query(`COPY (SELECT * FROM ${table}) TO '${join(folder, table)}' WITH (FORMAT binary)`);
    await clearEligibilities(client);
    await client.query('TRUNCATE changes');
    await client.query('CHECKPOINT');
    const started = performance.now();
    await client.query('BEGIN');
    for (const table of TABLES) await client.query(`COPY ${table} FROM '${join(folder, table)}' WITH (FORMAT binary)`);
    await client.query('COMMIT');
    return rows / ((performance.now() - started) / 1000);
  });
}

/** p95 of creates and reads at a steady rate, beside an import to alone, in turn: the medians of the rounds. */
async function beside(service: BenchedService, imports: Imports, rows: number, rounds: number, seconds: number) {
  const { scene } = service;
  const caller = new Caller(service.url, await service.clientToken(), 16);
  const candidates = `/accounts/${scene.accountCode}/candidates`;
  const p95 = {
    create: { alone: [] as number[], beside: [] as number[] },
    read: { alone: [] as number[], beside: [] as number[] },
  };
  for (let number = 0; number <= rounds; number++)
    for (const phase of ['alone', 'beside'] as const) {
      const id = phase === 'beside' ? await imports.send(`beside-${number}`, Math.min(rows, MOST_BESIDE)) : null;
      const [creates, reads] = await Promise.all([
        atRate(CALLS_PER_SECOND, seconds, (call) =>
          caller.call('POST', candidates, createBody(scene, `${phase}${number}-${call}`)),
        ),
        atRate(CALLS_PER_SECOND, seconds, () => caller.call('GET', `${candidates}/row-1`)),
      ]);
      if (id !== null && (await imports.state(id)).state !== 'RUNNING')
        process.stderr.write(`The import of round ${number} ended before its time: give it more --rows.\n`);
      if (id !== null) await imports.abort(id);
      // Round 0 warms up.
      if (number === 0) continue;
      p95.create[phase].push(quantile(creates, 0.95));
      p95.read[phase].push(quantile(reads, 0.95));
    }
  await caller.close();
  return (['create', 'read'] as const).map((kind): Figure => {
    const { alone, beside: withImport } = p95[kind];
    const ms = (values: number[]) => values.map(round).join(', ');
    process.stdout.write(`p95 of a ${kind}, ms: alone ${ms(alone)}; beside ${ms(withImport)}\n`);
    return {
      name: `p95 of ${CALLS_PER_SECOND} ${kind}s a second beside an import, to that alone`,
      value: median(withImport) / median(alone),
      unit: 'ratio',
      goal: { atMost: 1.5 },
    };
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '10' },
    },
  });
  const [rows, rounds, seconds] = [values.rows, values.rounds, values.seconds].map(Number);
  const stage = await Stage.open();
  try {
    const service = await BenchedService.start(join(stage.folder, DATABASE), await stage.createDatabase(DATABASE));
    stage.onClear(() => service.stop());
    const imports = new Imports(service.url, service.scene, await service.clientToken());
    await imports.ended(await imports.send('warm', 1000));
    const idle = residentMiB(service.pid);
    const begun = performance.now();
    const received = await peakDuring(service, imports.send('row', rows));
    const sent = performance.now();
    process.stderr.write(`received after ${round((sent - begun) / 1000)} s\n`);
    const postmaster = await stage.postmaster();
    const used = () => [service.pid, postmaster].map(processorSeconds);
    const usedBefore = used();
    const done = await peakDuring(service, watched(service, imports, received.value, rows));
    const perSecond = rows / ((performance.now() - sent) / 1000);
    const [ofService, ofPostgres] = used().map((seconds, index) => ((seconds - usedBefore[index]) / rows) * 1e6);
    const wholePerSecond = rows / ((performance.now() - begun) / 1000);
    if (done.value.created !== rows) throw new Error(`${done.value.created} of ${rows} rows were created.`);
    const peak = Math.max(received.peak, done.peak);

    const latency = rounds > 0 ? await beside(service, imports, rows, rounds, seconds) : [];
    const load = await Load.start(stage.log);
    const token = await service.clientToken();
    const job = { url: service.url, kind: 'create' as const, scene: service.scene, token, candidates: 1, seconds };
    const single = await load.run({ ...job, label: 'single' });
    await load.stop();
    const { count } = await stage.withDatabase(DATABASE, async (client) => {
      const { rows: counted } = await client.query<{ count: string }>('SELECT count(*) FROM eligibilities');
      return counted[0];
    });
    const copiedBefore = processorSeconds(postmaster);
    const copied = await copy(stage, Number(count));
    const ofCopy = ((processorSeconds(postmaster) - copiedBefore) / Number(count)) * 1e6;

    const figures: Figure[] = [
      { name: 'rows done a second', value: perSecond, unit: '/s', goal: null },
      { name: 'the same with the sending', value: wholePerSecond, unit: '/s', goal: null },
      { name: 'single creates a second, 32 connections', value: single.perSecond, unit: '/s', goal: null },
      { name: 'COPY into the same tables, rows a second', value: copied, unit: '/s', goal: null },
      { name: 'import to single creates', value: perSecond / single.perSecond, unit: 'ratio', goal: { atLeast: 1 } },
      { name: 'COPY to import', value: copied / perSecond, unit: 'ratio', goal: { atMost: 4 } },
      ...latency,
      { name: `resident memory above idle, ${rows} rows`, value: peak - idle, unit: 'MiB', goal: { atMost: 150 } },
    ];
    process.stdout.write(
      `processor time of a row, µs: service ${ofService.toFixed(0)}, PostgreSQL ${ofPostgres.toFixed(0)}; COPY, out and in, ${ofCopy.toFixed(0)}\n`,
    );
    for (const figure of figures) {
      const met = isMet(figure);
      const verdict = met === null ? '' : met ? '   met' : '   NOT MET';
      process.stdout.write(`${figure.name.padEnd(64)} ${round(figure.value).padStart(8)} ${figure.unit}${verdict}\n`);
    }
  } finally {
    await stage.close();
  }
}

runCommand(main);
