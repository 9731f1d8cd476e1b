import { randomInt } from 'node:crypto';
import type { Daemon } from '../daemon.js';
import type { ServiceProcess } from '../../../bench/service-process.js';
import type { DatabaseCluster, DatabaseMachine } from './patroni.js';

/** The parts of the test environment that a failure can affect. */
export interface Stage {
  readonly cluster: DatabaseCluster;
  readonly proxy: Daemon;
  readonly pooler: Daemon;
  readonly services: readonly ServiceProcess[];
}

export interface Harm {
  readonly kind: string;
  /**
   * The reason why a standby takes over: the primary no longer runs (`gone`), or it no longer answers (`silent`). If no
   * standby takes over, the value is null.
   */
  readonly promotes: 'gone' | 'silent' | null;
  /** Causes the failure. Returns the function that repairs it. */
  readonly strike: (stage: Stage) => Promise<() => Promise<void> | void>;
}

async function powerCut(machine: DatabaseMachine): Promise<() => void> {
  machine.machine.kill();
  await Promise.resolve();
  return () => machine.start();
}

function partition({ machine }: DatabaseMachine): () => void {
  machine.cut();
  return () => machine.join();
}

async function killed(daemon: Daemon): Promise<() => void> {
  await daemon.kill();
  return () => daemon.start();
}

export const HARMS: readonly Harm[] = [
  {
    kind: 'primary',
    promotes: 'gone',
    strike: async ({ cluster }) => {
      (await cluster.primary()).killPostgres();
      // A killed PostgreSQL needs no repair, because Patroni restarts it as a standby.
      return () => undefined;
    },
  },
  {
    kind: 'machine of the primary',
    promotes: 'gone',
    strike: async ({ cluster }) => powerCut(await cluster.primary()),
  },
  {
    kind: 'partition of the primary',
    promotes: 'silent',
    strike: async ({ cluster }) => partition(await cluster.primary()),
  },
  { kind: 'machine of a standby', promotes: null, strike: async ({ cluster }) => powerCut(await cluster.standby()) },
  { kind: 'partition of a standby', promotes: null, strike: async ({ cluster }) => partition(await cluster.standby()) },
  { kind: "leader's etcd", promotes: null, strike: async ({ cluster }) => killed((await cluster.primary()).etcd) },
  { kind: 'proxy', promotes: null, strike: ({ proxy }) => killed(proxy) },
  { kind: 'pooler', promotes: null, strike: ({ pooler }) => killed(pooler) },
  {
    kind: 'service',
    promotes: null,
    strike: async ({ services }) => {
      const service = services[randomInt(services.length)];
      await service.kill('SIGKILL');
      return () => service.start();
    },
  },
];

/** Returns a function that returns one of the values at each call, in random order, and each value equally often. */
export function shuffledBag<T>(of: readonly T[]): () => T {
  let bag: T[] = [];
  return () => {
    if (bag.length === 0) bag = [...of];
    return bag.splice(randomInt(bag.length), 1)[0];
  };
}
