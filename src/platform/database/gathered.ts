import { currentTransaction, isDatabaseUnavailable, type Database, type Statement } from './database.js';

const MOST_IN_FLIGHT = 2;
const MOST_IN_BATCH = 200;

interface Waiting<Question, Row> {
  readonly question: Question;
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One prepared statement for the questions of many requests, without any cache.
 *
 * 1. A statement is sent at once while fewer than two are in flight.
 * 2. Questions that arrive meanwhile wait, and the next statement asks all of them together. Each row that it answers
 *    with has the number of its question, from 1, in the column `n`.
 * 3. So a statement always starts after the questions that it answers have arrived.
 * 4. When a batch is refused, its questions are asked one by one: what is wrong with one of them is its own matter.
 * 5. Inside a unit of work the question goes alone over the connection of the transaction.
 *
 * The gain: an idle service answers after one round trip, as without gathering. Under load the round trip, the messages
 * of the protocol, the connection of the pool and, for writes, the flush of the commit are shared by all of a batch,
 * and one kind of question never takes more than two connections away from the others.
 *
 * Never let a question join a statement that is already on its way: it would be answered with the state before it came.
 */
export class Gathered<Question, Row extends { n: number }> {
  private waiting: Waiting<Question, Row>[] = [];
  private inFlight = 0;

  /** @param valuesOf the values of the statement for these questions */
  constructor(
    private readonly database: Database,
    private readonly statement: Statement,
    private readonly valuesOf: (questions: readonly Question[]) => unknown[],
  ) {}

  /** The rows that answer the question, in the order of the statement. */
  ask(question: Question): Promise<Row[]> {
    if (currentTransaction.getStore()) return this.database.query<Row>(this.statement, this.valuesOf([question]));
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      if (this.inFlight < MOST_IN_FLIGHT) void this.sendNext();
    });
  }

  private async sendNext(): Promise<void> {
    this.inFlight++;
    const batch = this.waiting.splice(0, MOST_IN_BATCH);
    try {
      await this.send(batch);
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) for (const { reject } of batch) reject(error);
      else for (const one of batch) await this.send([one]).catch(one.reject);
    } finally {
      this.inFlight--;
      if (this.waiting.length > 0) void this.sendNext();
    }
  }

  private async send(batch: readonly Waiting<Question, Row>[]): Promise<void> {
    // On the pool itself: the statement serves many requests and belongs to nobody's transaction.
    const { rows } = await this.database.pool.query<Row>({
      ...this.statement,
      values: this.valuesOf(batch.map((waiting) => waiting.question)),
    });
    const answers: Row[][] = batch.map(() => []);
    for (const row of rows) answers[row.n - 1].push(row);
    batch.forEach(({ resolve }, index) => resolve(answers[index]));
  }
}

/** The value of a statement that reads its questions from `json_to_recordset($1)`: each with its number. */
export function numbered(questions: readonly object[]): [string] {
  return [JSON.stringify(questions.map((question, index) => ({ n: index + 1, ...question })))];
}
