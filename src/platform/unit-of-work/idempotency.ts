import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Database, prepared } from '../database/database.js';
import { UnitOfWork } from './unit-of-work.js';
import { declareFaults, defineProblem, validationError } from '../errors.js';
import { sha256 } from '../secrets.js';
import { canonicalJson } from '../http/canonical-json.js';
import { receivedBody } from '../http/request-form.js';
import { requestContext } from '../context/request-context.js';

declareFaults({
  idempotency_key_invalid: ['The Idempotency-Key cannot be used.', 'Send 1 to 255 printable ASCII characters.'],
});

const KEY = /^[\x20-\x7e]{1,255}$/;
export const IDEMPOTENCY_KEY_LIFE_HOURS = 24;

const idempotencyKeyReused = defineProblem(
  'idempotency_key_reused',
  'unprocessable',
  'The idempotency key belongs to another request',
  'The same Idempotency-Key came before with another method, path or body. Use a new key for a new request.',
);
const idempotencyKeyInUse = defineProblem(
  'idempotency_key_in_use',
  'conflict',
  'The first request with this key is in progress',
  'Send the request again in a moment to get the answer of the first one.',
);

/** The route honours `Idempotency-Key`. */
export const Idempotent = () => UseInterceptors(IdempotencyInterceptor);

const TRY_LOCK = prepared('idempotency-lock', `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked`);
const FIND = prepared(
  'idempotency-find',
  `SELECT request_hash, status, body FROM idempotency_keys
   WHERE consumer_key = $1 AND username = $2 AND idempotency_key = $3
     AND created_at > now() - interval '${IDEMPOTENCY_KEY_LIFE_HOURS} hours'`,
);
const KEEP = prepared(
  'idempotency-keep',
  `INSERT INTO idempotency_keys (consumer_key, username, idempotency_key, request_hash, status, body)
   VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT ON CONSTRAINT idempotency_keys_pk DO UPDATE
   SET request_hash = excluded.request_hash, status = excluded.status, body = excluded.body,
     created_at = excluded.created_at`,
);

/**
 * `Idempotency-Key`, in the transaction of the change:
 *
 * 1. A transaction-level advisory lock on application, user and key: who does not get it meets a first request in progress.
 * 2. A kept answer of the same request is replayed; of another request, refused.
 * 3. The handler runs inside this transaction (its unit of work joins), and its answer is kept in it.
 * 4. Any refusal rolls all of it back: the key is free again.
 *
 * Never keep an answer outside of the transaction: after a crash it would tell of a change that was not made.
 */
@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const key = request.headers['idempotency-key'];
    if (key === undefined) return next.handle();
    return from(this.once(String(key), request, http.getResponse<Response>(), next));
  }

  private async once(key: string, request: Request, response: Response, next: CallHandler): Promise<unknown> {
    if (!KEY.test(key))
      throw validationError.error({
        errors: [
          {
            parameter: 'Idempotency-Key',
            code: 'idempotency_key_invalid',
            detail: 'Must be 1 to 255 printable ASCII characters.',
          },
        ],
      });
    const caller = requestContext().caller!;
    const owner = [caller.consumerKey, caller.username, key];
    const hash = sha256(canonicalJson([request.method, request.originalUrl, receivedBody(request) ?? null]));
    return this.unitOfWork.run(async () => {
      const lock = await this.database.queryOne<{ locked: boolean }>(TRY_LOCK, [JSON.stringify(owner)]);
      if (!lock?.locked) throw idempotencyKeyInUse.error({ headers: { 'Retry-After': '1' } });
      const kept = await this.database.queryOne<{ request_hash: Buffer; status: number; body: string | null }>(
        FIND,
        owner,
      );
      if (kept) {
        if (!kept.request_hash.equals(hash)) throw idempotencyKeyReused.error();
        response.setHeader('Idempotency-Replayed', 'true');
        response.status(kept.status);
        return kept.body === null ? undefined : (JSON.parse(kept.body) as unknown);
      }
      const answer: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      await this.database.execute(KEEP, [
        ...owner,
        hash,
        response.statusCode,
        answer === undefined ? null : JSON.stringify(answer),
      ]);
      return answer;
    });
  }
}
