import { randomUUID } from 'node:crypto';
import { TEST_CODE } from '../../../bench/prepare.js';

const EVERY_MS = 100;

interface Probe {
  readonly begun: number;
  readonly ended: number;
  readonly isAnswered: boolean;
}

/** Creates an eligibility ten times a second, without waiting for earlier calls. Records which calls get a response. */
export class Prober {
  readonly probes: Probe[] = [];
  private readonly underWay = new Set<Promise<void>>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly baseUrl: string,
    private readonly account: string,
    private readonly token: string,
    private readonly acknowledged: Set<string>,
  ) {
    this.timer = setInterval(() => {
      const probe = this.probe().finally(() => this.underWay.delete(probe));
      this.underWay.add(probe);
    }, EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.underWay);
  }

  /**
   * Returns the time of the first successful response, and the time at which the last failed request started. Both are
   * in milliseconds after the given moment. A time is null if there was no such response or request.
   */
  since(moment: number): { answered: number | null; refused: number | null } {
    const after = this.probes.filter(({ ended }) => ended > moment);
    const answers = after.filter(({ isAnswered }) => isAnswered).map(({ ended }) => ended - moment);
    const refusals = after.filter((one) => !one.isAnswered && one.begun > moment).map(({ begun }) => begun - moment);
    return {
      answered: answers.length === 0 ? null : Math.min(...answers),
      refused: refusals.length === 0 ? null : Math.max(...refusals),
    };
  }

  isAnsweredSince(moment: number): boolean {
    return this.since(moment).answered !== null;
  }

  private async probe(): Promise<void> {
    const begun = Date.now();
    let isAnswered = false;
    try {
      const answer = await fetch(`${this.baseUrl}/accounts/${this.account}/candidates`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          test_code: TEST_CODE,
          eligibility_end_date: '2036-01-01T00:00:00Z',
          candidate: { candidate_id: `P-${randomUUID()}`, first_name: 'Ada', last_name: 'Lovelace' },
        }),
        signal: AbortSignal.timeout(15_000),
      });
      const body = (await answer.json()) as { svc_eligiblity_id?: string };
      isAnswered = answer.ok;
      if (answer.ok) this.acknowledged.add(body.svc_eligiblity_id!);
    } catch {
      // A failed call does not end the program, because failed calls are part of the measurement.
    }
    this.probes.push({ begun, ended: Date.now(), isAnswered });
  }
}

/** Returns the longest time between two successive moments of a list, in milliseconds. */
export function longestPause(moments: readonly number[]): number {
  const sorted = [...moments].sort((a, b) => a - b);
  return Math.max(0, ...sorted.slice(1).map((moment, index) => moment - sorted[index]));
}
