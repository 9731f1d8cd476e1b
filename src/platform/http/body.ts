import {
  applyDecorators,
  Injectable,
  SetMetadata,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { finalize, from, switchMap, type Observable } from 'rxjs';
import { requestContext } from '../context/request-context.js';
import { expectLargeBodies } from '../heap.js';
import { malformedRequest, unsupportedMediaType, type DomainError } from '../errors.js';
import { FairSemaphore } from '../overload/fair-semaphore.js';
import { ACCESS, type AccessRule } from './access.js';
import { BrokenCoding, codingRefusal, hasBody, readBytes, statedLength } from './body-arrival.js';
import { BodyMemory, memorySpent } from '../overload/body-memory.js';
import { BodyPace } from '../overload/body-pace.js';
import { parseJsonBody } from './json-members.js';
import { excessOf } from './json-text.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const DEFAULT_LIMIT = 256 * KIB;
/**
 * The size, in bytes, up to which a body is not charged to the memory budget. Most bodies are smaller. Such bodies
 * cannot exhaust the memory, because the number of connections is limited.
 */
const FREE_BYTES = 16 * KIB;
const MOST_WAIT_MS = 8_000;
/**
 * The number of JSON values up to which the time for parsing a body is not charged to the caller. Parsing a body with
 * more values takes 10 ms or longer.
 */
const MOST_PLAIN_VALUES = 2000;
/**
 * The factor that multiplies the charge for parsing a body with more than {@link MOST_PLAIN_VALUES} values. Such a body
 * is almost certain to be refused. Parsing it and listing its faults blocks the event loop for about 15 ms. Because of
 * the factor, one caller can send such bodies only so rarely that they delay less than 1 % of the other requests.
 */
const CHARGE_OF_REFUSED = 120;
/**
 * The size, in bytes, above which a body is parsed outside the event loop. The code that reads such a body charges the
 * processing time to the caller's budget (BodyPace).
 */
export const LABORIOUS_BYTES = 32 * KIB;
const UNPACKABLE = 'The body does not match its Content-Encoding.';
const BODY_LIMIT = 'body limit';
const RAW_BODY = 'raw body';
const STREAMED_BODY = 'streamed body';
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** Sets the maximum size of request bodies on a route, in bytes. The default is 256 KiB. */
export const BodyLimit = (bytes: number) =>
  applyDecorators(SetMetadata(BODY_LIMIT, bytes), UseInterceptors(LargeBodyReader));

/**
 * Passes the bytes of the body to the handler, which calls `assertJsonBytes` before it parses them. If the body is not
 * declared as JSON or cannot be decompressed, the handler gets an {@link UnsupportedBody}.
 */
export const RawBody = () => SetMetadata(RAW_BODY, true);

/**
 * The bytes of a body that is not declared as JSON or cannot be decompressed. The bytes are decompressed if that is
 * possible.
 */
export class UnsupportedBody {
  constructor(
    readonly bytes: Buffer,
    readonly refusal: DomainError,
  ) {}
}

/** Declares that the handler of the route reads the body itself, as a stream. */
export const StreamedBody = () => SetMetadata(STREAMED_BODY, true);

/**
 * Reads the JSON body of an ordinary request, after other guards have admitted the caller. The class is a guard rather
 * than an interceptor, because even one interceptor would send every request through RxJS, which costs measurable
 * processor time. The token service itself reads the form-encoded bodies of its requests.
 */
@Injectable()
export class BodyGate implements CanActivate {
  private readonly memory = new BodyMemory(64 * MIB, 16 * MIB, MOST_WAIT_MS);

  constructor(
    private readonly reflector: Reflector,
    private readonly pace: BodyPace,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || !hasBody(request)) return true;
    const route = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(STREAMED_BODY, route) === true) return true;
    const access = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS, route);
    if (access === 'client' || this.reflector.getAllAndOverride<number | undefined>(BODY_LIMIT, route) !== undefined)
      return true;
    assertJson(request);
    const arrival = { limit: DEFAULT_LIMIT, unpack: true };
    const response = http.getResponse<Response>();
    if (announcedBytes(request, DEFAULT_LIMIT) <= FREE_BYTES) {
      request.body = parseJsonBody(await readBytes(request, response, arrival));
      return true;
    }
    const space = this.memory.begin(callerName());
    try {
      request.body = await this.parse(await readBytes(request, response, { ...arrival, space }));
    } finally {
      space.leave();
    }
    return true;
  }

  private async parse(bytes: Buffer): Promise<unknown> {
    if (excessOf(bytes, MOST_PLAIN_VALUES) === null) return parseJsonBody(bytes);
    const caller = callerName();
    await this.pace.rest(caller);
    const begun = performance.now();
    try {
      return parseJsonBody(bytes);
    } finally {
      this.pace.charge(caller, (performance.now() - begun) * CHARGE_OF_REFUSED);
    }
  }
}

/**
 * Reads the body of a request to a route with its own `BodyLimit`. The body keeps its memory and its place in the
 * semaphore until the handler has ended.
 */
@Injectable()
class LargeBodyReader implements NestInterceptor {
  private readonly memory = new BodyMemory(48 * MIB, 24 * MIB, MOST_WAIT_MS);
  /**
   * Limits the total size of the large bodies that are processed at the same time. Processing a body needs about five
   * times as much memory as the body itself.
   */
  private readonly semaphore = new FairSemaphore(8 * MIB, MOST_WAIT_MS, memorySpent);

  constructor(
    private readonly reflector: Reflector,
    private readonly pace: BodyPace,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || !hasBody(request)) return next.handle();
    const route = [context.getHandler(), context.getClass()];
    const limit = this.reflector.getAllAndOverride<number>(BODY_LIMIT, route);
    const asBytes = this.reflector.getAllAndOverride<boolean | undefined>(RAW_BODY, route) ?? false;
    return from(this.read(request, http.getResponse<Response>(), limit, asBytes)).pipe(
      switchMap((leave) => next.handle().pipe(finalize(leave))),
    );
  }

  /** Reads the body. Resolves with a function that releases the memory that the body occupies. */
  private async read(request: Request, response: Response, limit: number, asBytes: boolean): Promise<() => void> {
    let refusal = asBytes ? refusalOf(request) : null;
    if (!asBytes) assertJson(request);
    const caller = callerName();
    const space = this.memory.begin(caller);
    try {
      // A large body is read only when its sender need not wait any more. A body that is kept in memory for seconds moves
      // to V8's old generation, and freeing it there slows down the requests of other callers.
      const rest = statedLength(request) > LABORIOUS_BYTES ? () => this.pace.rest(caller) : undefined;
      const arrival = { limit, unpack: true, asSent: refusal?.isPacked, keepBroken: asBytes, space, rest };
      const bytes = await readBytes(request, response, arrival).catch((error: unknown) => {
        if (!(error instanceof BrokenCoding)) throw error;
        refusal = { error: malformedRequest.error({ detail: UNPACKABLE }), isPacked: true };
        return error.bytes;
      });
      const { length } = bytes;
      if (length > LABORIOUS_BYTES) await this.pace.rest(caller);
      if (length > MIB) expectLargeBodies();
      if (length > DEFAULT_LIMIT) await this.semaphore.enter(caller, length);
      const leave = (): void => {
        request.body = undefined;
        if (length > DEFAULT_LIMIT) this.semaphore.leave(length);
        space.leave();
      };
      try {
        if (refusal) request.body = new UnsupportedBody(bytes, refusal.error);
        else request.body = asBytes ? bytes : parseJsonBody(bytes);
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    } catch (error) {
      space.leave();
      throw error;
    }
  }
}

/**
 * Refuses a body that is not declared as JSON.
 * @throws DomainError unsupported_media_type
 */
function assertJson(request: Request): void {
  if (!isJson(request)) throw unsupportedMediaType.error();
}

/**
 * Returns the error for a body that is refused because of its headers; null if its headers are acceptable. `isPacked`
 * means that the content coding of the body is not supported.
 */
function refusalOf(request: Request): { error: DomainError; isPacked: boolean } | null {
  const coding = codingRefusal(request);
  if (coding) return { error: coding, isPacked: true };
  return isJson(request) ? null : { error: unsupportedMediaType.error(), isPacked: false };
}

function isJson(request: Request): boolean {
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return type.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset));
}

/**
 * Returns the announced length of the body. If the length is not announced, or if the body is compressed, returns the
 * limit.
 */
function announcedBytes(request: Request, limit: number): number {
  const plain = (request.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  const length = request.headers['content-length'];
  return plain && length !== undefined ? Number(length) : limit;
}

/** Returns the name under which the memory of a body is charged. All users of an application share one name. */
function callerName(): string {
  return requestContext().caller?.consumerKey ?? '';
}
