import type { Database } from './database.js';
import { Batched } from './batched.js';

/**
 * A fake pool that holds every statement until the test releases it. The row returned for a question is the question
 * itself.
 */
class HeldPool {
  readonly batches: { questions: string[]; end: (error?: Error) => void }[] = [];

  query({ values: [questions] }: { values: [string[]] }): Promise<{ rows: { n: number; answer: string }[] }> {
    return new Promise((resolve, reject) =>
      this.batches.push({
        questions,
        end: (error) =>
          error
            ? reject(error)
            : resolve({ rows: questions.map((question, index) => ({ n: index + 1, answer: question })) }),
      }),
    );
  }

  get sizes(): number[] {
    return this.batches.map((batch) => batch.questions.length);
  }
}

describe('Batched', () => {
  let pool: HeldPool;
  let batched: Batched<string, { n: number; answer: string }>;

  beforeEach(() => {
    pool = new HeldPool();
    batched = new Batched({ pool } as unknown as Database, { text: '' }, (questions) => [questions]);
  });

  const ask = (count: number) => Array.from({ length: count }, (_, number) => batched.ask(`question ${number}`));
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  it('the query batcher sends a query immediately when no statement is running, and batches the queries that arrive in the meantime', async () => {
    const answers = ask(50);
    expect(pool.sizes).toEqual([1]);
    pool.batches[0].end();
    await settled();
    expect(pool.sizes).toEqual([1, 49]);
    pool.batches[1].end();
    expect((await Promise.all(answers)).map(([row]) => row.answer)).toEqual(
      Array.from({ length: 50 }, (_, number) => `question ${number}`),
    );
  });

  it('the query batcher sends identical queries in a batch once, and returns the rows to each caller', async () => {
    batched = new Batched({ pool } as unknown as Database, { text: '' }, (questions) => [questions], String);
    const answers = ['first', 'same', 'other', 'same'].map((question) => batched.ask(question));
    pool.batches[0].end();
    await settled();
    expect(pool.batches[1].questions).toEqual(['same', 'other']);
    pool.batches[1].end();
    expect((await Promise.all(answers)).map(([row]) => row.answer)).toEqual(['first', 'same', 'other', 'same']);
  });

  it('the query batcher never answers a query with the rows of a statement that was sent before the query arrived', async () => {
    const early = batched.ask('same');
    let answered = false;
    const late = batched.ask('same').then(() => (answered = true));
    pool.batches[0].end();
    await early;
    await settled();
    expect(answered).toBe(false);
    pool.batches[1].end();
    await late;
  });

  it('a batch of the query batcher contains at most 200 queries', async () => {
    const answers = ask(451);
    for (let at = 0; at < pool.batches.length; at++) {
      pool.batches[at].end();
      await settled();
    }
    expect(pool.sizes).toEqual([1, 200, 200, 50]);
    await Promise.all(answers);
  });

  describe('while a slow statement is running', () => {
    beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
    afterEach(() => void jest.useRealTimers());

    it('while a slow statement is running, the query batcher sends up to four further batches, each after a short wait', async () => {
      const answers = ask(1);
      for (let number = 0; number < 5; number++) {
        answers.push(batched.ask(`behind ${number}`));
        jest.advanceTimersByTime(10);
      }
      expect(pool.sizes).toEqual([1, 2, 2]);
      for (let number = 5; number < 11; number++) {
        answers.push(batched.ask(`behind ${number}`));
        jest.advanceTimersByTime(20);
      }
      expect(pool.sizes).toEqual([1, 2, 2, 2]);
      pool.batches[3].end();
      await settled();
      expect(pool.sizes).toEqual([1, 2, 2, 2, 5]);
      for (const batch of pool.batches) batch.end();
      await Promise.all(answers);
    });

    it('the query batcher sends the next batch immediately when a slow statement has ended', async () => {
      const answers = ask(1);
      jest.advanceTimersByTime(1_000);
      pool.batches[0].end();
      await settled();
      answers.push(...ask(2));
      expect(pool.sizes).toEqual([1, 1]);
      pool.batches[1].end();
      await settled();
      pool.batches[2].end();
      await Promise.all(answers);
    });
  });

  it('when PostgreSQL refuses a batch, the query batcher sends the queries one by one, so that only the faulty query fails', async () => {
    const outcomes = Promise.allSettled(ask(4));
    pool.batches[0].end();
    await settled();
    pool.batches[1].end(new Error('refused'));
    for (const at of [2, 3, 4]) {
      await settled();
      pool.batches[at].end(at === 3 ? new Error('at fault') : undefined);
    }
    const statuses = (await outcomes).map((outcome) => outcome.status);
    expect(statuses).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('all queries of a batch fail together when the database is unreachable, and later queries succeed again', async () => {
    const outcomes = Promise.allSettled(ask(3));
    pool.batches[0].end();
    await settled();
    pool.batches[1].end(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
    const statuses = (await outcomes).map((outcome) => outcome.status);
    expect(statuses).toEqual(['fulfilled', 'rejected', 'rejected']);
    const next = batched.ask('next');
    pool.batches[2].end();
    await expect(next).resolves.toEqual([{ n: 1, answer: 'next' }]);
  });
});
