import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/**
 * Sends a request with any method, path and headers, even if `fetch` would refuse such a request. The body is sent in
 * the given chunks.
 */
export function rawCall(
  baseUrl: string,
  method: string,
  path: string,
  { headers = {}, chunks = [] }: { headers?: Record<string, string | string[]>; chunks?: (string | Buffer)[] } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  // Content-Length is set here, because Node sets it only for methods that usually have a body.
  const framed = chunks.length === 0 || 'content-length' in headers || 'transfer-encoding' in headers;
  const framing = framed
    ? {}
    : { 'content-length': String(Buffer.concat(chunks.map((part) => Buffer.from(part))).length) };
  return new Promise((resolve, reject) => {
    const call = request(
      { host: hostname, port, method, path, headers: { ...framing, ...headers }, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(parts).toString() }),
        );
      },
    );
    call.on('error', reject);
    for (const chunk of chunks) call.write(chunk);
    call.end();
  });
}

/** Sends raw bytes and reads until the server closes the connection. */
export function rawBytes(baseUrl: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    const parts: Buffer[] = [];
    socket.on('data', (part: Buffer) => parts.push(part));
    socket.on('close', () => resolve(Buffer.concat(parts).toString()));
    socket.on('error', reject);
  });
}
