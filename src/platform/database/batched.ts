import { currentSpan } from '../context/current-span.js';
import { outsideOfRequests } from '../context/request-context.js';
import { Batcher } from '../batcher.js';
import { noConnectionFree } from './fair-connections.js';
import { send } from './statement-retries.js';
import {
  currentTransaction,
  isDatabaseUnavailable,
  type Database,
  type Statement,
  type Transaction,
} from './database.js';

const MOST_IN_BATCH = 200;

type Executor = Database['pool'] | Transaction['client'];

interface Waiting<Question, Row> {
  readonly question: Question;
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches the questions of many requests into one prepared statement. Answers are not cached. A question is one set of
 * parameters for the statement.
 *
 * 1. Questions that arrive while a statement is running are sent together in the next statement (`Batcher`). Each
 *    result row has the number of its question, from 1, in the `n` column.
 * 2. When PostgreSQL refuses a batch, its questions are sent one by one, so that one faulty question fails alone.
 * 3. Inside a unit of work, the questions of one turn of the event loop are sent together on the connection of the
 *    transaction. If PostgreSQL refuses the statement, all these questions fail, because the transaction is aborted.
 *
 * Reason: in an idle service, a question takes one round trip, as without batching. Under load, the questions of a
 * batch share the round trip, the protocol messages, the connection and, for writes, the flush of the commit. One kind
 * of question never occupies more than four connections. Starting two batches at once would halve their size and cost
 * more processor time.
 *
 * Never let a question join a statement that is already running: its answer would be older than the question.
 */
export class Batched<Question, Row extends { n: number }> {
  private readonly batcher = new Batcher<Waiting<Question, Row>>(
    MOST_IN_BATCH,
    (batch) => this.sendAll(batch),
    noConnectionFree,
  );
  /** The questions that each transaction has collected in the current turn of the event loop. */
  private readonly inTransaction = new WeakMap<Transaction['client'], Waiting<Question, Row>[]>();

  /**
   * Creates a batcher for one prepared statement.
   * @param valuesOf returns the parameters of the statement for the given questions
   * @param keyOf returns the key of a question; questions with the same key are sent only once per batch; by default
   * every question is sent
   */
  constructor(
    private readonly database: Database,
    private readonly statement: Statement,
    private readonly valuesOf: (questions: readonly Question[]) => unknown[],
    private readonly keyOf: (question: Question) => unknown = (question) => ({ question }),
  ) {}

  /** Returns the rows that the statement finds for the question, in the statement's order. */
  ask(question: Question): Promise<Row[]> {
    const transaction = currentTransaction.current;
    if (transaction) return this.askIn(transaction, question);
    return new Promise((resolve, reject) => this.batcher.add({ question, resolve, reject }));
  }

  private askIn(transaction: Transaction, question: Question): Promise<Row[]> {
    const { client } = transaction;
    return new Promise((resolve, reject) => {
      transaction.flush();
      const asked = this.inTransaction.get(client);
      if (asked) {
        asked.push({ question, resolve, reject });
        return;
      }
      const batch = [{ question, resolve, reject }];
      this.inTransaction.set(client, batch);
      // A batch is sent after the continuations of all settled promises have run, because the continuations may add
      // questions to the batch.
      process.nextTick(() => {
        this.inTransaction.delete(client);
        const span = batch.length === 1 ? currentSpan.current : undefined;
        outsideOfRequests(span, () => this.send(batch, client)).catch((error: unknown) => {
          for (const waiting of batch) waiting.reject(error);
        });
      });
    });
  }

  private async sendAll(batch: readonly Waiting<Question, Row>[]): Promise<void> {
    try {
      await this.send(batch);
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) for (const { reject } of batch) reject(error);
      else for (const one of batch) await this.send([one]).catch(one.reject);
    }
  }

  /** Sends a batch: on the connection of its transaction or, outside a transaction, on the pool. */
  private async send(batch: readonly Waiting<Question, Row>[], on: Executor = this.database.pool): Promise<void> {
    const asked = new Map<unknown, Waiting<Question, Row>[]>();
    for (const waiting of batch) {
      const key = this.keyOf(waiting.question);
      const alike = asked.get(key);
      if (alike) alike.push(waiting);
      else asked.set(key, [waiting]);
    }
    const groups = [...asked.values()];
    const values = this.valuesOf(groups.map(([{ question }]) => question));
    const { rows } = await send<Row>(on, this.statement, values, on !== this.database.pool);
    const answers: Row[][] = groups.map(() => []);
    for (const row of rows) answers[row.n - 1].push(row);
    groups.forEach((alike, index) => alike.forEach(({ resolve }) => resolve(answers[index])));
  }
}

/**
 * Returns the parameter of a statement that reads its questions from `json_to_recordset($1)`. Each question gets its
 * number as the member `n`.
 */
export function numbered(questions: readonly object[]): [string] {
  return [JSON.stringify(questions.map((question, index) => ({ n: index + 1, ...question })))];
}
