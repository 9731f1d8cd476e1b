import type { INestApplicationContext } from '@nestjs/common';
import { RacePoints, type RacePoint } from '../../src/notifications/race-points';
import { WorkerThread } from '../../src/platform/worker-thread';

/** Somebody who is held, or will be, at a race point. */
export interface Hold {
  /** Resolves when the process has come to the point. */
  readonly reached: Promise<void>;
  /** Lets it go on; who comes later passes. */
  release(): void;
}

/** Holds the next one of this process that comes to the point; those after it, too, until the release, unless `others` is false. */
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

/** As {@link holdAt}, for whichever of the processes comes to the point first; the others are held as well. */
export function holdAny(processes: readonly { app: INestApplicationContext }[], point: RacePoint): Hold {
  const holds = processes.map((process) => holdAt(process, point));
  return {
    reached: Promise.race(holds.map(({ reached }) => reached)),
    release: () => {
      for (const hold of holds) hold.release();
    },
  };
}

/** Passwords that wait for their hash. */
export interface HeldHashes {
  /** The passwords whose turn has come, in that order. */
  readonly begun: string[];
  /** Lets them be hashed from now on, those to come too. */
  release(): void;
}

/** Holds the threads that hash passwords, all of this process, when they are given one. */
export function holdHashing(): HeldHashes {
  const run = Object.getOwnPropertyDescriptor(WorkerThread.prototype, 'run')!.value as (
    job: unknown,
  ) => Promise<unknown>;
  const begun: string[] = [];
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  WorkerThread.prototype.run = async function (this: object, job: { password?: string; known?: unknown }, ...rest: []) {
    // The estimates of password-strength.ts are none.
    if (typeof job.password === 'string' && !('known' in job)) {
      begun.push(job.password);
      await released;
    }
    return run.call(this, job, ...rest);
  } as typeof WorkerThread.prototype.run;
  return {
    begun,
    release: () => {
      release();
      WorkerThread.prototype.run = run as typeof WorkerThread.prototype.run;
    },
  };
}
