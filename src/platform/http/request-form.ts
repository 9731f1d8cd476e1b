import {
  createParamDecorator,
  Injectable,
  SetMetadata,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { HttpConfig } from './http.config.js';
import type { Fault } from '../errors.js';
import { requestContext } from '../context/request-context.js';
import { Faults } from '../validation/faults.js';
import { formOf, isObject, type Dto } from '../validation/fields.js';
import { inspectBody, readParameters } from '../validation/members.js';
import { takeReadTurn } from '../overload/read-share.js';

const CHECKS_MORE = 'checks more';
const CHECK_OF_HEADERS = 'check of headers';
const READER = Symbol('reader of the body');

/**
 * Declares that the handler itself makes further checks of the request. The handler receives the {@link RequestFaults},
 * adds its own faults, and refuses the request if there are any.
 */
export const ChecksMore = () => SetMetadata(CHECKS_MORE, 'readable');

/**
 * Declares that the handler itself makes further checks, like {@link ChecksMore}, and is called even if the path or
 * query has faults. In this case, the handler must refuse the request before it uses the path or the query.
 */
export const ChecksParameters = () => SetMetadata(CHECKS_MORE, 'any');

/**
 * Passes the faults that were found so far to a handler that makes further checks. Other handlers are not called for a
 * request with faults.
 */
export const RequestFaults = createParamDecorator((_data: unknown, context: ExecutionContext): Faults => {
  return received.get(context.switchToHttp().getRequest<Request>())?.faults ?? new Faults();
});

/**
 * Declares a check of a request's headers. The faults that it finds are reported together with the other faults of the
 * request.
 */
export const ChecksHeaders = (faultsOf: (request: Request) => readonly Fault[]) =>
  SetMetadata(CHECK_OF_HEADERS, faultsOf);

/** Declares how to read a body of this class if the body is not simply an object with the members of the class. */
export const ReadBodyBy =
  <T extends object>(read: (value: unknown, faults: Faults) => T) =>
  (target: Dto<T>): void =>
    Reflect.defineMetadata(READER, read, target);

/** Declares that a request without a body means the same as a request with an empty object as its body. */
export const OptionalBody = <T extends object>(target: Dto<T>): void =>
  ReadBodyBy((value, faults) => inspectBody(target, value ?? {}, faults).body)(target);

interface Received {
  readonly body: unknown;
  readonly faults: Faults;
}

const received = new WeakMap<Request, Received>();

/**
 * Returns the request's body with all members that the client sent. The handler's copy has only the members that its
 * class declares.
 */
export function receivedBody(request: Request): unknown {
  return received.get(request)?.body;
}

/**
 * The classes of a handler's arguments for path, query and body. Null means that the handler does not have the
 * argument, or reads that part of the request itself.
 */
interface Taken {
  readonly path: Dto | null;
  readonly query: Dto | null;
  readonly body: Dto | null;
  /** Whether the handler reads no part of the body. */
  readonly takesNoBody: boolean;
  readonly readsQueryItself: boolean;
  /** Whether the response is a page of a list. The client chooses the size of the page. */
  readonly isPage: boolean;
}

/**
 * Reads path, query and body into the classes that the handler declares. A faulty request is refused with one
 * `validation_error` that lists every fault. The decorators in fields.ts declare the rules of the classes.
 *
 * The class is a guard, which runs after the caller was admitted and the body was read. The whole request is checked
 * before any part of it is used. Pipes would check one argument at a time.
 */
@Injectable()
export class RequestForm implements CanActivate {
  private readonly taken = new WeakMap<object, WeakMap<object, Taken>>();

  constructor(
    private readonly reflector: Reflector,
    private readonly config: HttpConfig,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { path, query, body, takesNoBody, readsQueryItself, isPage } = this.takenBy(context);
    const faults = new Faults();
    if (path !== null) request.params = readParameters(path, request.params, false, faults) as Request['params'];
    const isStrict = !readsQueryItself && this.isStrict(request);
    if (query !== null || isStrict) {
      const value = readParameters(query, request.query, isStrict, faults);
      // The parsed query is stored, because Express would parse it again at each access.
      Object.defineProperty(request, 'query', { value, configurable: true });
    }
    // A request counts as unreadable if its path or its query has a faulty value. Most handlers with further checks are
    // not called for such a request, because their checks use these values.
    const isUnreadable = faults.list.some(({ code }) => code !== 'unknown_parameter');
    faults.add(...this.headerFaults(request, context));
    received.set(request, { body: request.body as unknown, faults });
    if (body !== null) {
      const sent: unknown = request.body;
      request.body = readBody(body, sent, faults);
      // The names of the members are only stored if the body has no faults, because the audit log must not repeat
      // unknown names.
      if (faults.isEmpty && isObject(sent)) requestContext().members = Object.keys(sent);
    } else if (takesNoBody && this.isAdministration(request) && request.body !== undefined)
      inspectBody(NoMembers, request.body, faults);
    if (!faults.isEmpty && (faults.isFull || !this.checksMore(context, isUnreadable))) faults.refuse();
    return isPage ? takeReadTurn(context.switchToHttp().getResponse<Response>()) : true;
  }

  /**
   * Returns whether the route refuses unknown parameters. A mistyped filter must never be ignored, because a list or a
   * resend would then include more items than the client intended. The comparison ignores the case of the path, as the
   * router does.
   */
  private isStrict(request: Request): boolean {
    return /^\/(accounts|admin|partner)\//.test(this.ownPath(request));
  }

  /**
   * Returns whether the request is a POST, PUT or PATCH on a route for operators or partners. DELETE is not included,
   * because it has no body.
   */
  private isAdministration(request: Request): boolean {
    return /^(POST|PUT|PATCH)$/.test(request.method) && /^\/(admin|partner)\//.test(this.ownPath(request));
  }

  /** Returns the path without BASE_PATH, in lower case. */
  private ownPath({ path }: Request): string {
    return path.slice(this.config.basePath.length).toLowerCase();
  }

  private headerFaults(request: Request, context: ExecutionContext): readonly Fault[] {
    const check = this.reflector.get<Parameters<typeof ChecksHeaders>[0] | undefined>(
      CHECK_OF_HEADERS,
      context.getHandler(),
    );
    return check?.(request) ?? [];
  }

  private checksMore(context: ExecutionContext, isUnreadable: boolean): boolean {
    const checked = this.reflector.get<'readable' | 'any' | undefined>(CHECKS_MORE, context.getHandler());
    return checked === 'any' || (checked === 'readable' && !isUnreadable);
  }

  private takenBy(context: ExecutionContext): Taken {
    const controller = context.getClass();
    const handler = context.getHandler();
    let ofController = this.taken.get(controller);
    if (!ofController) this.taken.set(controller, (ofController = new WeakMap<object, Taken>()));
    let taken = ofController.get(handler);
    if (!taken) ofController.set(handler, (taken = takenBy(controller, handler.name)));
    return taken;
  }
}

function readBody(dto: Dto, value: unknown, faults: Faults): object {
  const read = Reflect.getMetadata(READER, dto) as ((value: unknown, faults: Faults) => object) | undefined;
  return read ? read(value, faults) : inspectBody(dto, value, faults).body;
}

/** The arguments with which a handler can read the body. */
const READS_BODY = [RouteParamtypes.BODY, RouteParamtypes.RAW_BODY, RouteParamtypes.REQUEST];

/**
 * The class for the body of a route that takes no body. It declares no members, so every member that a client sends is
 * a fault: the member would have no effect.
 */
class NoMembers {}

/**
 * The classes that TypeScript's decorator metadata contains for parameters of the type `unknown` or of a primitive
 * type.
 */
const BUILT_IN = new Set<unknown>([Object, Array, String, Number, Boolean, Buffer]);

function takenBy(controller: Type, method: string): Taken {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<
    string,
    { index: number; data?: unknown }
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) ?? []) as unknown[];
  const classOf = (kind: RouteParamtypes): Dto | null => {
    const argument = Object.entries(args).find(
      ([key, { data }]) => key.startsWith(`${kind}:`) && data === undefined,
    )?.[1];
    const type = argument === undefined ? undefined : (types[argument.index] as Dto | undefined);
    if (typeof type !== 'function' || BUILT_IN.has(type)) return null;
    if (formOf(type).fields.size === 0 && !Reflect.hasMetadata(READER, type))
      throw new Error(`${type.name} of ${controller.name}.${method} declares no field.`);
    return type;
  };
  const takes = (kind: RouteParamtypes) => Object.keys(args).some((key) => key.startsWith(`${kind}:`));
  const query = classOf(RouteParamtypes.QUERY);
  return {
    path: classOf(RouteParamtypes.PARAM),
    query,
    body: classOf(RouteParamtypes.BODY),
    takesNoBody: !READS_BODY.some(takes),
    readsQueryItself: takes(RouteParamtypes.QUERY) && query === null,
    isPage: query !== null && formOf(query).fields.has('limit'),
  };
}
