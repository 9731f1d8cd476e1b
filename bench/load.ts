/**
 * Generates load with autocannon in a separate process, so that autocannon's work is not counted as work of the server.
 */
import autocannon, { type LoadContext, type LoadRequest } from 'autocannon';
import { BOOKING_BODY, createBody, type Scene } from './scene.js';
import { endWithOrchestrator, Program, tell } from './program.js';
import { quantile } from './figures.js';

export const CONNECTIONS = 32;

export interface LoadJob {
  /** The servers to load. Each server gets {@link CONNECTIONS} connections of its own. */
  url: string | string[];
  kind: keyof typeof REQUESTS;
  scene: Scene;
  token: string;
  /**
   * The number of existing candidates, `seeded-1` and so on. Each candidate is read repeatedly, and gets one booking.
   */
  candidates: number;
  /** A part of the name of each created candidate. Each load on the same database needs its own label. */
  label: string;
  /** Whether each request that creates a record or a booking has its own Idempotency-Key. */
  keyed?: boolean;
  seconds: number;
}

export interface LoadResult {
  perSecond: number;
  p50: number;
  p99: number;
  requests: number;
}

/** Puts load on a server, and returns the measurements. A response other than 2xx is an error. */
export class Load {
  private constructor(private readonly program: Program) {}

  static async start(log: string): Promise<Load> {
    return new Load(await Program.start('load', {}, log));
  }

  get pid(): number {
    return this.program.child.pid!;
  }

  async run(job: LoadJob): Promise<LoadResult> {
    const { result, failed } = await this.program.ask<{ result: LoadResult; failed: string | null }>(job);
    if (failed !== null) throw new Error(`${job.kind} at ${String(job.url)}: ${failed}`);
    return result;
  }

  stop(): Promise<void> {
    return this.program.stop();
  }
}

async function perform(job: LoadJob): Promise<void> {
  const milliseconds: number[] = [];
  const statuses = new Map<number, number>();
  const instance = autocannon({
    url: job.url,
    connections: CONNECTIONS * [job.url].flat().length,
    duration: job.seconds,
    requests: [REQUESTS[job.kind](job)].flat(),
  });
  instance.on('response', (_client, status, _bytes, time) => {
    milliseconds.push(time);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  const { errors, timeouts, non2xx, duration } = await instance;
  const told = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  const failed =
    non2xx + errors + timeouts > 0 || milliseconds.length === 0
      ? `${told}; ${errors} errors, ${timeouts} timeouts`
      : null;
  const sorted = Float64Array.from(milliseconds).sort();
  const result: LoadResult = {
    perSecond: milliseconds.length / duration,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    requests: milliseconds.length,
  };
  tell({ result, failed });
}

/** Returns the Idempotency-Key header of a request, or an empty object if the requests of the job have no keys. */
const keyOf = ({ kind, label, keyed }: LoadJob, number: number): Record<string, string> =>
  keyed ? { 'idempotency-key': `${kind}-${label}-${number}` } : {};

function createRequest(job: LoadJob): LoadRequest {
  const { scene, token, label } = job;
  const [before, after] = createBody(scene, '<candidate>').split('<candidate>');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let number = 0;
  return {
    method: 'POST',
    path: `/accounts/${scene.accountCode}/candidates`,
    setupRequest: (request) => ({
      ...request,
      headers: { ...headers, ...keyOf(job, ++number) },
      body: `${before}${label}-${number}${after}`,
    }),
  };
}

function readRequest({ scene, token, candidates }: LoadJob): LoadRequest {
  let number = 0;
  return {
    method: 'GET',
    path: '',
    headers: { authorization: `Bearer ${token}` },
    setupRequest: (request) => {
      // Successive requests read rows that are far apart, so that the requests read different pages of the table.
      number = (number + 7919) % candidates;
      return { ...request, path: readPath(scene, number + 1) };
    },
  };
}

function bookRequest(job: LoadJob): LoadRequest {
  const { scene, token } = job;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let number = 0;
  return {
    method: 'POST',
    path: '',
    body: BOOKING_BODY,
    setupRequest: (request) => ({
      ...request,
      path: `${readPath(scene, ++number)}/bookings`,
      headers: { ...headers, ...keyOf(job, number) },
    }),
  };
}

/** The number of times that a client reads a record between two changes to the record. */
const LOOKS = 20;

/** Builds the mix of calls that a client makes during a day. Each booking is cancelled later. */
function dayRequests(job: LoadJob): LoadRequest[] {
  const { scene, token, label } = job;
  const [before, after] = createBody(scene, '<candidate>').split('<candidate>');
  const account = `/accounts/${scene.accountCode}`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let number = 0;
  const of = ({ candidate }: LoadContext) => `${account}/candidates/${candidate}/tests/${scene.testCode}`;
  const get = (pathOf: (context: LoadContext) => string): LoadRequest => ({
    method: 'GET',
    path: '',
    headers: { authorization: headers.authorization },
    setupRequest: (request, context) => ({ ...request, path: pathOf(context) }),
  });
  return [
    {
      method: 'POST',
      path: `${account}/candidates`,
      headers,
      setupRequest: (request, context) => {
        context.candidate = `${label}-${++number}`;
        return { ...request, body: before + context.candidate + after };
      },
    },
    ...Array<LoadRequest>(LOOKS).fill(get(of)),
    {
      method: 'POST',
      path: '',
      headers,
      body: BOOKING_BODY,
      setupRequest: (request, context) => ({ ...request, path: `${of(context)}/bookings` }),
      onResponse: (_status, body, context) => {
        context.booking = (JSON.parse(body) as { booking_code: string }).booking_code;
      },
    },
    get(({ booking }) => `${account}/bookings/${booking}`),
    ...Array<LoadRequest>(LOOKS).fill(get(of)),
    {
      method: 'DELETE',
      path: '',
      headers: { authorization: headers.authorization },
      setupRequest: (request, { booking }) => ({ ...request, path: `${account}/bookings/${booking}` }),
    },
    get(() => `${account}/eligibilities?limit=20`),
    get(() => `${account}/changes?after=now`),
  ];
}

const REQUESTS = { create: createRequest, read: readRequest, book: bookRequest, day: dayRequests };

/** Returns the path that lists a candidate's eligibilities for one test. */
export function readPath({ accountCode, testCode }: Scene, number: number): string {
  return `/accounts/${accountCode}/candidates/seeded-${number}/tests/${testCode}`;
}

if (require.main === module) {
  endWithOrchestrator();
  process.on('message', (job: LoadJob) => {
    perform(job).catch((error: unknown) => tell({ error: String(error) }));
  });
  tell({ ready: {} });
}
