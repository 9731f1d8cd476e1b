import { join } from 'node:path';
import { median, ofRounds, round, type Section } from './figures.js';
import { CONNECTIONS, Load } from './load.js';
import { peakResidentMiB } from './processor-time.js';
import { BenchedService } from './service.js';
import { removeDataFolder, type Stage } from './stage.js';

interface Sizes {
  starts: number;
  seconds: number;
}

/** Measures the start-up time and the memory of the service. */
export async function measureProcess(stage: Stage, { starts, seconds }: Sizes): Promise<Section> {
  const dataDir = join(stage.folder, 'process');
  stage.onClear(() => Promise.resolve(removeDataFolder(dataDir)));
  // The first start does not count, because it creates the database.
  await (await BenchedService.start(dataDir, null)).stop();
  const readySeconds: number[] = [];
  let service!: BenchedService;
  for (let number = 0; number < starts; number++) {
    if (number > 0) await service.stop();
    service = await BenchedService.start(dataDir, null);
    readySeconds.push(service.readyAfterS);
  }
  stage.onClear(() => service.stop());
  const load = await Load.start(stage.log);
  stage.onClear(() => load.stop());
  const job = { url: service.url, scene: service.scene, token: await service.clientToken(), candidates: 1, seconds };
  await load.run({ ...job, kind: 'create', label: 'seeded' });
  await load.run({ ...job, kind: 'read', label: 'none' });
  await load.stop();
  const peakMiB = peakResidentMiB(service.pid);
  await service.stop();
  const ready = median(readySeconds);
  return {
    title: 'Process',
    method:
      `Ready: from the start of the process on an existing data directory, its PostgreSQL included, to the first 200 of ` +
      `/health/ready; median of ${starts}. Memory: the largest resident set, after ${CONNECTIONS} connections created and ` +
      `read.`,
    table: [
      ['', 'measured'],
      ['ready after, s', round(ready)],
      ['resident, MiB', round(peakMiB)],
    ],
    figures: [
      { ...ofRounds('ready on an existing data directory', 's', readySeconds), goal: { atMost: 1 } },
      { name: 'resident memory under load', value: peakMiB, unit: 'MiB', goal: { atMost: 200 } },
    ],
    asked: [
      {
        question: 'Time from the start of the service, with its embedded PostgreSQL, until it is ready',
        measured: `${round(ready)} s`,
        judged: { 'ready on an existing data directory': '' },
      },
      {
        question: 'Resident memory of the service under load',
        measured: `${round(peakMiB)} MiB`,
        judged: { 'resident memory under load': '' },
      },
    ],
  };
}
