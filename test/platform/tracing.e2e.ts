import { createServer, type Server } from 'node:http';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { siteBooking } from '../support/given';
import { Subscribed } from '../support/subscribed';

interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** Receives spans over OTLP/HTTP as JSON, like an OpenTelemetry collector. */
class Collector {
  readonly spans: CollectedSpan[] = [];
  private server!: Server;

  async start(): Promise<string> {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'POST' && request.url === '/v1/traces') this.take(Buffer.concat(chunks));
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  private take(body: Buffer): void {
    const { resourceSpans } = JSON.parse(body.toString()) as {
      resourceSpans: { scopeSpans: { spans: CollectedSpan[] }[] }[];
    };
    for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) this.spans.push(...spans);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe('§14 with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  const collector = new Collector();
  let app: TestApp;

  beforeAll(async () => {
    process.env['OTEL_BSP_SCHEDULE_DELAY'] = '100';
    app = await startApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start() } });
  });
  afterAll(async () => {
    await app.close();
    collector.close();
    delete process.env['OTEL_BSP_SCHEDULE_DELAY'];
  });

  it('one trace connects the request, the command, its statements, the outbox and the PUT to the partner', async () => {
    const subscribed = await Subscribed.start(app);
    const { scene } = subscribed;
    const eligibility = await app.given.eligibility(scene);
    const path = `/accounts/${scene.account}/candidates/${eligibility['candidate'].candidate_id}/tests/${scene.testCode}/bookings`;
    const answer = await app.call('POST', path, {
      token: scene.token,
      body: siteBooking(),
      headers: { traceparent: `00-${TRACE}-${PARENT}-01` },
    });
    expect(answer.status).toBe(201);
    await subscribed.partner.received(1);
    const told = subscribed.partner.requests[0].headers['traceparent'];
    expect(told).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));

    const inTrace = () => collector.spans.filter(({ traceId }) => traceId === TRACE);
    const named = (name: string | RegExp) =>
      inTrace().find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)))!;
    await eventually(() => expect(inTrace().map(({ name }) => name)).toContain('PUT'));
    await eventually(() => expect(inTrace().map(({ kind }) => kind)).toContain(2));
    const request = inTrace().find(({ kind }) => kind === 2)!;
    expect(request.name).toBe('POST /accounts/:account_code/candidates/:candidate_id/tests/:test_code/bookings');
    expect(request.parentSpanId).toBe(PARENT);
    expect(request.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: answer.status } });
    const command = named('BookExam');
    expect(command.parentSpanId).toBe(request.spanId);
    const within = inTrace().filter(({ parentSpanId }) => parentSpanId === command.spanId);
    expect(within.map(({ name }) => name)).toEqual(expect.arrayContaining(['COMMIT', 'unit-of-work-record']));
    const translated = named('notifications-translate');
    const translation = inTrace().find(({ spanId }) => spanId === translated.parentSpanId)!;
    expect(translation.name).toBe('TranslateEvents');
    const published = inTrace().find(({ spanId }) => spanId === translation.parentSpanId)!;
    expect(published.name).toBe('publish booking.created');
    const put = named('PUT');
    expect(told.split('-')[2]).toBe(put.spanId);
    // Every span except the span of the request has a parent in the same trace.
    const ids = new Set(inTrace().map(({ spanId }) => spanId));
    expect(inTrace().filter((span) => span !== request && !ids.has(span.parentSpanId!))).toEqual([]);
    expect(JSON.stringify(inTrace())).not.toContain(eligibility['candidate'].candidate_id);
  });

  it('the trace of a request includes no work that was done for other requests', async () => {
    const scene = await app.given.scene();
    const records = await Promise.all(Array.from({ length: 30 }, () => app.given.eligibility(scene)));
    const headers = (n: number) => ({ traceparent: `00-${n.toString(16).padStart(32, 'e')}-${PARENT}-01` });
    const answers = await Promise.all(
      records.flatMap((record, n) => {
        const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`;
        const { token } = scene;
        return [
          app.call('GET', path, { token, headers: headers(n) }),
          app.call('POST', `${path}/bookings`, { token, body: siteBooking(), headers: headers(n + 30) }),
        ];
      }),
    );
    expect(answers.filter(({ status }) => status === 200 || status === 201)).toHaveLength(60);
    const inTraces = () => collector.spans.filter(({ traceId }) => traceId.startsWith('eeee'));
    await eventually(() => expect(inTraces().filter(({ kind }) => kind === 2)).toHaveLength(60));
    const statements = inTraces()
      .filter(({ kind }) => kind === 3)
      .map(({ traceId, name }) => `${traceId} ${name}`);
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.sort()).toEqual([...new Set(statements)].sort());
  });

  it('the trace of a request includes no statement that serves several requests in one transaction', async () => {
    const scene = await app.given.scene();
    const traceOf = (n: number) => n.toString(16).padStart(32, 'd');
    const all = Array.from({ length: 20 }, (_, n) => n);
    const answers = await Promise.all(
      all.map((n) =>
        app.call('POST', `/accounts/${scene.account}/candidates`, {
          token: scene.token,
          body: app.given.eligibilityBody(scene.testCode),
          headers: { 'idempotency-key': `traced-${n}`, traceparent: `00-${traceOf(n)}-${PARENT}-01` },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200));
    const inTraces = () => collector.spans.filter(({ traceId }) => all.some((n) => traceOf(n) === traceId));
    await eventually(() => expect(inTraces().filter(({ kind }) => kind === 2)).toHaveLength(20));
    const tracesOf = (name: string) => [
      ...new Set(inTraces().flatMap((span) => (span.name === name ? [span.traceId] : []))),
    ];
    expect(tracesOf('eligibility-create').filter((id) => !tracesOf('idempotency-keep').includes(id))).toEqual([]);
  });
});

it('creates no span without OTEL_EXPORTER_OTLP_ENDPOINT, but forwards the trace context of a request', async () => {
  const app = await startApp();
  const subscribed = await Subscribed.start(app);
  const eligibility = await app.given.eligibility(subscribed.scene);
  await app.given.booking(subscribed.scene, eligibility);
  await subscribed.partner.received(1);
  expect(subscribed.partner.requests[0].headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  await app.close();
});
