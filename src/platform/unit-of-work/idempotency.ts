import {
  applyDecorators,
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Batched, numbered } from '../database/batched.js';
import { Database, prepared } from '../database/database.js';
import type { IdempotencyKey } from './idempotency-key.entity.js';
import { UnitOfWork } from './unit-of-work.js';
import { declareFaults, defineProblem, type Fault } from '../errors.js';
import { sha256 } from '../secrets.js';
import { IdempotencyHeader } from '../http/documented.js';
import { canonicalJson } from '../http/canonical-json.js';
import { ChecksHeaders, receivedBody } from '../http/request-form.js';
import { requestContext } from '../context/request-context.js';

declareFaults({
  idempotency_key_invalid: [
    'The value of the header Idempotency-Key is not allowed.',
    'Send 1 to 255 printable ASCII characters.',
  ],
});

const KEY = /^[\x20-\x7e]{1,255}$/;
export const IDEMPOTENCY_KEY_LIFE_HOURS = 24;

const idempotencyKeyReused = defineProblem(
  'idempotency_key_reused',
  'unprocessable',
  'The idempotency key was used for another request',
  'The same Idempotency-Key was sent before with another method, path or body. Use a new key for each new request.',
);
const idempotencyKeyInUse = defineProblem(
  'idempotency_key_in_use',
  'conflict',
  'The first request with this key is still in progress',
  'Send the request again in a moment, to get the response to the first request.',
);

const WithOthers = Reflector.createDecorator<boolean>();

/**
 * Declares that the route supports the `Idempotency-Key` header, and documents the header and the responses that result
 * from it.
 */
export const Idempotent = () =>
  applyDecorators(UseInterceptors(IdempotencyInterceptor), ChecksHeaders(keyFaults), IdempotencyHeader());

/**
 * Declares the same as {@link Idempotent}, for a command that may share its transaction (`UnitOfWork.runWithOthers`).
 */
export const IdempotentWithOthers = () => applyDecorators(Idempotent(), WithOthers(true));

const TRY_LOCK = prepared(
  'idempotency-lock',
  `SELECT n, pg_try_advisory_xact_lock(hashtextextended(owner, 0)) AS locked
   FROM json_to_recordset($1) AS asked (n int, owner text)`,
);
const FIND = prepared(
  'idempotency-find',
  `SELECT n, kept.* FROM json_to_recordset($1) AS asked (n int, consumer_key text, username text, idempotency_key text)
   CROSS JOIN LATERAL (
     SELECT request_hash, status, body FROM idempotency_keys k
     WHERE k.consumer_key = asked.consumer_key AND k.username = asked.username AND k.idempotency_key = asked.idempotency_key
       AND created_at > now() - interval '${IDEMPOTENCY_KEY_LIFE_HOURS} hours' LIMIT 1) kept`,
);
const KEEP = prepared(
  'idempotency-keep',
  `INSERT INTO idempotency_keys (consumer_key, username, idempotency_key, request_hash, status, body, subjects)
   SELECT consumer_key, username, idempotency_key, decode(request_hash, 'hex'), status, body,
     ARRAY(SELECT json_array_elements_text(subjects))
   FROM json_to_recordset($1) AS kept (consumer_key text, username text, idempotency_key text, request_hash text, status int,
     body text, subjects json)
   ON CONFLICT ON CONSTRAINT idempotency_keys_pk DO UPDATE
   SET request_hash = excluded.request_hash, status = excluded.status, body = excluded.body, subjects = excluded.subjects,
     created_at = excluded.created_at`,
);

/** The columns that identify an idempotency key: the application, the user and the key. */
type Owner = Pick<IdempotencyKey, 'consumer_key' | 'username' | 'idempotency_key'>;
type Kept = Pick<IdempotencyKey, 'request_hash' | 'status' | 'body'>;

/**
 * Handles the `Idempotency-Key` header in the transaction of the change that the request makes:
 *
 * 1. The interceptor takes a transaction-level advisory lock on the application, user and key. A request that does not
 *    get the lock is refused, because an earlier request with the key is still in progress.
 * 2. If the same request was sent before, its stored response is sent again. A different request with the same key is
 *    refused.
 * 3. Otherwise, the handler runs inside this transaction (its unit of work joins the transaction), and the response is
 *    stored in the same transaction.
 * 4. If the request is refused, everything is rolled back, and the key can be used again.
 *
 * Never store a response outside the transaction: after a crash, the response would report a change that was rolled
 * back.
 */
@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  private readonly lock: Batched<object, { n: number; locked: boolean }>;
  private readonly kept: Batched<object, Kept & { n: number }>;

  constructor(
    database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly reflector: Reflector,
  ) {
    this.lock = new Batched(database, TRY_LOCK, numbered);
    this.kept = new Batched(database, FIND, numbered);
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const key = keyOf(request);
    // An invalid `Idempotency-Key` is reported by the route's handler, together with the other faults of the request.
    if (key === null || keyFaults(request).length > 0) return next.handle();
    const withOthers = this.reflector.get(WithOthers, context.getHandler()) ?? false;
    return from(this.once(key, withOthers, request, http.getResponse<Response>(), next));
  }

  private async once(
    key: string,
    withOthers: boolean,
    request: Request,
    response: Response,
    next: CallHandler,
  ): Promise<unknown> {
    const owner = ownerOf(key);
    const lock = JSON.stringify(Object.values(owner));
    const hash = hashOf(request, receivedBody(request) ?? null);
    let replayed: number | null = null;
    const work = async (): Promise<unknown> => {
      replayed = null;
      const [{ locked }] = await this.lock.ask({ owner: lock });
      const [kept] = await this.kept.ask(owner);
      if (!locked && !kept) throw keyInUse();
      if (kept) {
        if (!kept.request_hash.equals(hash)) throw idempotencyKeyReused.error();
        replayed = kept.status;
        return kept.body === null ? undefined : (JSON.parse(kept.body) as unknown);
      }
      const answer: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      this.unitOfWork.keep(KEEP, {
        ...owner,
        request_hash: hash.toString('hex'),
        status: response.statusCode,
        body: answer === undefined ? null : JSON.stringify(answer),
        subjects: this.unitOfWork.subjects(),
      });
      return answer;
    };
    const answer = await (withOthers ? this.unitOfWork.runWithOthers(`key ${lock}`, work) : this.unitOfWork.run(work));
    if (replayed !== null) response.setHeader('Idempotency-Replayed', 'true').status(replayed);
    return answer;
  }
}

/**
 * Handles the `Idempotency-Key` header for a route that streams its body. The hash of such a body is known only when
 * the whole body has been read.
 */
@Injectable()
export class StreamedIdempotency {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** Returns whether a response is stored under the given idempotency key of the caller. */
  async isKept(key: string): Promise<boolean> {
    return (await this.database.query(FIND, numbered([ownerOf(key)]))).length > 0;
  }

  /**
   * Returns the stored response to the same request; null if there is none. The method also locks the key in the
   * current transaction, so that other requests with the same key are refused until the transaction ends.
   * @throws DomainError idempotency_key_reused, idempotency_key_in_use
   */
  async keptAnswer<T>(key: string, request: Request, bodyHash: string): Promise<T | null> {
    const owner = ownerOf(key);
    const lock = numbered([{ owner: JSON.stringify(Object.values(owner)) }]);
    const [{ locked }] = await this.database.query<{ locked: boolean }>(TRY_LOCK, lock);
    const [kept] = await this.database.query<Kept>(FIND, numbered([owner]));
    if (!locked && !kept) throw keyInUse();
    if (!kept) return null;
    if (!kept.request_hash.equals(hashOf(request, bodyHash))) throw idempotencyKeyReused.error();
    return JSON.parse(kept.body!) as T;
  }

  /** Stores the response to the request in the current transaction. */
  keep(key: string, request: Request, bodyHash: string, status: number, answer: object): void {
    this.unitOfWork.keep(KEEP, {
      ...ownerOf(key),
      request_hash: hashOf(request, bodyHash).toString('hex'),
      status,
      body: JSON.stringify(answer),
      subjects: this.unitOfWork.subjects(),
    });
  }
}

function ownerOf(key: string): Owner {
  const caller = requestContext().caller!;
  return { consumer_key: caller.consumerKey, username: caller.username, idempotency_key: key };
}

function hashOf({ method, originalUrl }: Request, body: unknown): Buffer {
  return sha256(canonicalJson([method, originalUrl, body]));
}

export const keyInUse = () => idempotencyKeyInUse.error({ headers: { 'Retry-After': '1' } });

export function keyOf(request: Request): string | null {
  const key = request.headers['idempotency-key'];
  return key === undefined ? null : String(key);
}

export function keyFaults(request: Request): Fault[] {
  const key = keyOf(request);
  if (key === null || KEY.test(key)) return [];
  const detail = 'Must be 1 to 255 printable ASCII characters.';
  return [{ parameter: 'Idempotency-Key', code: 'idempotency_key_invalid', detail }];
}
