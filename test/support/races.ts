import type { INestApplicationContext } from '@nestjs/common';
import { RacePoints, type RacePoint } from '../../src/notifications/race-points';
import { WorkerProcess } from '../../src/platform/worker-process';

/** A process of the service that a test holds at a race point, until the test releases it. */
export interface Hold {
  /** Resolves when the process arrives at the race point. */
  readonly reached: Promise<void>;
  /** Lets the held process continue. Processes that arrive at the race point later are not held. */
  release(): void;
}

/**
 * Holds this process when it next arrives at the race point. Later arrivals before the release are held as well, unless
 * `others` is false.
 */
export function holdAt({ app }: { app: INestApplicationContext }, point: RacePoint, others = true): Hold {
  const points = app.get(RacePoints);
  const before = points.reached.bind(points);
  let release!: () => void;
  let arrive!: () => void;
  let isTaken = false;
  const released = new Promise<void>((resolve) => (release = resolve));
  const reached = new Promise<void>((resolve) => (arrive = resolve));
  points.reached = (which) => {
    if (which !== point || isTaken) return before(which);
    isTaken = !others;
    arrive();
    return released;
  };
  return { reached, release };
}

/**
 * Holds each of the processes that arrives at the race point, until the release. `reached` resolves when the first
 * process is held.
 */
export function holdAny(processes: readonly { app: INestApplicationContext }[], point: RacePoint): Hold {
  const holds = processes.map((process) => holdAt(process, point));
  return {
    reached: Promise.race(holds.map(({ reached }) => reached)),
    release: () => {
      for (const hold of holds) hold.release();
    },
  };
}

/** Password hashing under the control of a test: every password waits until the test calls `release`. */
export interface HeldHashes {
  /** The passwords that hashing processes have received, in the order of their arrival. */
  readonly begun: string[];
  /** Lets the waiting passwords, and all later passwords, be hashed. */
  release(): void;
}

/** Stops the password hashing of this process. Each password is hashed only after the test calls `release`. */
export function holdHashing(): HeldHashes {
  const run = Object.getOwnPropertyDescriptor(WorkerProcess.prototype, 'run')!.value as (
    job: unknown,
  ) => Promise<unknown>;
  const begun: string[] = [];
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  WorkerProcess.prototype.run = async function (
    this: object,
    job: { password?: string; hashed?: string; cost?: object },
  ) {
    if (job.hashed === undefined && job.cost === undefined) return run.call(this, job);
    begun.push(job.password!);
    await released;
    return run.call(this, job);
  } as typeof WorkerProcess.prototype.run;
  return {
    begun,
    release: () => {
      release();
      WorkerProcess.prototype.run = run as typeof WorkerProcess.prototype.run;
    },
  };
}
