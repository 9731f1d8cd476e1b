/**
 * Declares types for the part of autocannon that the load program uses, because the package has no types of its own.
 */
declare module 'autocannon' {
  /**
   * The state that an autocannon connection keeps from one request to the next. The state is cleared whenever the
   * connection starts its list of requests again.
   */
  export interface LoadContext {
    candidate?: string;
    booking?: string;
  }
  export interface LoadRequest {
    method: string;
    path: string;
    headers?: Record<string, string>;
    body?: string;
    setupRequest?: (request: LoadRequest, context: LoadContext) => LoadRequest;
    onResponse?: (status: number, body: string, context: LoadContext) => void;
  }
  export interface Options {
    url: string | string[];
    connections: number;
    duration: number;
    requests: LoadRequest[];
  }
  export interface Result {
    duration: number;
    errors: number;
    timeouts: number;
    non2xx: number;
  }
  export interface Instance extends PromiseLike<Result> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
    ): void;
  }
  export default function autocannon(options: Options): Instance;
}
