import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { median } from './figures.js';

const EVERY_MS = 25;
const TEXT = JSON.stringify(
  Array.from({ length: 60 }, (_, n) => ({
    candidate_id: `candidate-${n}`,
    status: 'ELIGIBLE',
    at: n * 1e6,
    codes: [n],
  })),
);

/**
 * How fast the machine is while something is measured: a piece of work that is always the same, again and again in a thread beside
 * it. What slows everything down for some seconds, another machine on the same processor or the other half of a core, slows
 * both, and so does not pass for a change of what is measured.
 */
export class Yardstick {
  private readonly thread = new Worker(__filename);

  constructor() {
    this.thread.unref();
  }

  /** The median time in ms of the pieces since it was asked before. */
  read(): Promise<number> {
    return new Promise((resolve) => {
      this.thread.once('message', resolve);
      this.thread.postMessage('read');
    });
  }
}

function workInTurn(): void {
  let took: number[] = [];
  const work = (): void => {
    const begun = performance.now();
    JSON.stringify(JSON.parse(TEXT));
    took.push(performance.now() - begun);
  };
  setInterval(work, EVERY_MS);
  parentPort!.on('message', () => {
    work();
    parentPort!.postMessage(median(took));
    took = [];
  });
}

if (!isMainThread) workInTurn();
