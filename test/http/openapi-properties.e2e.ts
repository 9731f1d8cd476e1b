import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { ensureSandbox } from '../../src/sandbox';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { SchemaInputs, type Schema } from '../support/openapi-inputs';

/**
 * For a longer search, set the seed and the number of runs: `OPENAPI_SEED=7 OPENAPI_RUNS=200 npx jest
 * openapi-properties`.
 */
const SEED = Number(process.env['OPENAPI_SEED'] ?? 20_270_131);
const RUNS = Number(process.env['OPENAPI_RUNS'] ?? 12);

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
  example?: unknown;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema; example: unknown }> };
  security: Record<string, string[]>[];
}
/** A generated request to an operation. The parts that the request omits are undefined. */
interface Input {
  parameters: Record<string, string | undefined>;
  type: string | undefined;
  body: unknown;
  caller: 'operator' | 'client' | 'nobody';
}

/**
 * Calls every operation in a sandbox's document with valid and invalid inputs that are generated from the schemas of
 * the operation. The document must describe the status, the headers and the body of each response (`TestApp` checks
 * every call), and no status may be 5xx. The service must refuse an input that does not match its schema.
 */
describe(`the OpenAPI document, tested with ${RUNS} generated requests to each operation (seed ${SEED})`, () => {
  let app: TestApp;
  let inputs: SchemaInputs;
  let operations: [string, Operation][];
  let sandbox: any;
  const tokens: Record<string, string> = {};
  /**
   * Ids and codes that exist in the sandbox. The keys are the names of the parameters and members that take these
   * values.
   */
  const known: Record<string, string[]> = {};

  beforeAll(async () => {
    app = await startApp({ env: { SANDBOX: 'true', NOTIFICATION_WAIT_MS: '1000', RETRY_SCHEDULE_S: '3600' } });
    await ensureSandbox(app.app, app.config);
    sandbox = JSON.parse(readFileSync(join(app.config.process.dataDir, 'sandbox.json'), 'utf8'));
    const document = (await app.call('GET', '/openapi.json')).body;
    inputs = new SchemaInputs(document.components.schemas);
    operations = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    );
    // Event streams are not called, because their responses never end.
    operations = operations.filter(([, operation]) => !JSON.stringify(operation).includes('text/event-stream'));
    tokens['operator'] = await app.given.operator();
    tokens['client'] = await app.given.token([sandbox.account_code]);
    // Extends the lifetime of the tokens, so that they stay valid when a generated request moves the clock.
    for (const table of ['access_tokens', 'token_families'])
      await app.given.sql(`UPDATE ${table} SET expires_at = '9998-12-31'`);
    await fill();
  });
  afterAll(() => app.close());

  /** Creates an object of each kind, so that the operations have data. */
  async function fill(): Promise<void> {
    const account = sandbox.account_code as string;
    const scene = { account, testCode: 'SANDBOX-ONE', token: tokens['operator'] };
    const call = async (method: string, path: string, body?: unknown) =>
      (await app.call(method, path, { token: tokens['operator'], body })).body;
    const { partner_url, ca_pem } = sandbox.partner;
    const { id } = await call('POST', '/admin/subscriptions', { account_code: account, partner_url, ca_pem });
    await call('POST', `/admin/subscriptions/${id}/verify`);
    await call('PATCH', `/admin/subscriptions/${id}`, { partner_url: `${partner_url}/400` });
    await app.given.sql(`UPDATE subscriptions SET state = 'ACTIVE'`);
    const records = [];
    for (let count = 0; count < 12; count++) records.push(await app.given.eligibility(scene));
    const bookings = [];
    for (const record of records.slice(0, 8)) bookings.push(await app.given.booking(scene, record));
    await call('POST', '/registrations/registration/results', { examMetaData: { examCode: 'NOBODY-KNOWS' } });
    const queue = await eventually(async () => {
      const queued = await call('GET', '/admin/error-queue');
      expect(queued).toHaveLength(8);
      return queued as { id: string }[];
    });
    const [{ id: unmatched }] = await call('GET', '/admin/unmatched-results');
    const { job_id } = await call('POST', '/admin/error-queue/resend', {
      filter: { account_code: account },
      reason: 'a',
    });
    const imported = await app.call('POST', `/accounts/${account}/eligibility-imports`, {
      token: tokens['operator'],
      headers: { 'content-type': 'text/csv' },
      body: 'candidate_id,first_name,last_name,test_code\nI-1,Ada,Lovelace,SANDBOX-ONE\n',
    });
    const svcIds = records.map((record) => record['svc_eligiblity_id'] as string);
    Object.assign(known, {
      account_code: [account],
      test_code: ['SANDBOX-ONE', 'SANDBOX-TWO'],
      candidate_id: records.map((record) => record['candidate'].candidate_id as string),
      svc_id: svcIds,
      svc_eligibility_code: svcIds,
      booking_code: bookings.map((booking) => booking['booking_code'] as string),
      subscription_id: [id],
      notification_id: queue.map((one) => one.id),
      resend_id: [job_id],
      job_id: [job_id],
      import_id: [imported.body.import_id],
      username: ['sandbox-client'],
      consumer_key: [sandbox.client.consumer_key],
      subscription: [id],
      unmatched: [unmatched],
      notification: queue.map((one) => one.id),
      status: ['active', 'ELIGIBLE'],
    });
  }

  /**
   * Returns the known values of a parameter. For `{id}`, the path shows which kind of object the parameter identifies.
   */
  const knownAs = (path: string, name: string): string[] | undefined =>
    known[name === 'id' ? (/(subscription|unmatched|notification)/.exec(path)?.[1] ?? name) : name];

  const parameterOf = (
    path: string,
    { name, in: place, required, schema, example }: Parameter,
  ): fc.Arbitrary<string | undefined> => {
    const fitting = inputs.fitting(schema).map((value) => (value === null ? undefined : textOf(value)));
    const given = knownAs(path, name) ?? (example === undefined ? undefined : [textOf(example)]);
    const usual = given === undefined ? fitting : fc.constantFrom(...given);
    const odd =
      place === 'header'
        ? fitting
        : fc.oneof(fitting, fc.constantFrom('x', '0', '-1', 'true', '😀', "'--", 'x'.repeat(400)));
    const any = fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd });
    return required === true
      ? any
      : fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: any });
  };

  const bodyOf = (schema: Schema, example: unknown): fc.Arbitrary<unknown> => {
    const around = inputs.around(schema, example);
    return fc.oneof(
      { weight: 5, arbitrary: around },
      { weight: 1, arbitrary: inputs.fitting(schema) },
      { weight: 3, arbitrary: inputs.spoilt(around) },
    );
  };

  const inputOf = (path: string, { parameters = [], requestBody }: Operation): fc.Arbitrary<Input> => {
    const contents = Object.entries(requestBody?.content ?? {});
    const bodies = contents.map(([type, { schema, example }]) =>
      fc.record({ type: fc.constant(type), body: bodyOf(schema, example) }),
    );
    return fc
      .tuple(
        fc.record(Object.fromEntries(parameters.map((parameter) => [parameter.name, parameterOf(path, parameter)]))),
        bodies.length === 0 ? fc.constant({ type: undefined, body: undefined }) : fc.oneof(...bodies),
        fc.oneof(
          { weight: 10, arbitrary: fc.constant('operator' as const) },
          { weight: 2, arbitrary: fc.constant('client' as const) },
          { weight: 1, arbitrary: fc.constant('nobody' as const) },
        ),
      )
      .map(([values, { type, body }, caller]) => ({ parameters: values, type, body, caller }));
  };

  /** Returns the request that is sent for the input. In forms and URLs, values are converted to text. */
  function sent(name: string, operation: Operation, input: Input) {
    const [method, template] = name.split(' ');
    let path = template;
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let isRight = true;
    for (const { name: parameter, in: place, required, schema } of operation.parameters ?? []) {
      const value = input.parameters[parameter];
      if (value === undefined) {
        isRight &&= required !== true;
        continue;
      }
      const types = [schema.type ?? 'string'].flat();
      isRight &&= inputs.fits(schema, types.includes('integer') && /^-?\d+$/.test(value) ? Number(value) : value);
      if (place === 'path') path = path.replace(`{${parameter}}`, encodeURIComponent(value));
      else if (place === 'query') query.set(parameter, value);
      else headers[parameter] = value;
    }
    let body: string | undefined;
    if (input.type !== undefined) {
      headers['content-type'] = input.type;
      const { schema } = operation.requestBody!.content[input.type];
      let value = input.body;
      if (input.type === 'application/x-www-form-urlencoded') {
        const members = Object.entries((value ?? {}) as Record<string, unknown>).filter(
          ([, member]) => member !== undefined,
        );
        value = Object.fromEntries(
          members.map(([member, text]) => [member, typeof text === 'string' ? text : JSON.stringify(text)]),
        );
        body = new URLSearchParams(value as Record<string, string>).toString();
      } else body = input.type === 'application/json' ? JSON.stringify(value) : String(value);
      // The test validates the input in the form in which the service receives it, because JSON omits undefined members
      // and a file is sent as text.
      let received: unknown = input.type === 'application/x-www-form-urlencoded' ? value : body;
      if (input.type === 'application/json' && body !== undefined) received = JSON.parse(body);
      isRight &&= body === undefined ? operation.requestBody!.required !== true : inputs.fits(schema, received);
    }
    const [security] = operation.security;
    if (security?.['client']) {
      const { consumer_key, consumer_secret } = sandbox.client;
      if (input.caller !== 'nobody') headers['authorization'] = `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}`;
    }
    const token = security?.['oauth2'] === undefined ? undefined : tokens[input.caller];
    const address = path + (query.size > 0 ? `?${query.toString()}` : '');
    return { method, address, options: { token, headers, body }, isRight };
  }

  it('every generated request gets a documented response, never a 5xx, and every invalid request gets a refusal', async () => {
    const failures: string[] = [];
    const succeeded = new Set<string>();
    const refused = new Set<string>();
    // The operation that moves the clock is called last. When the clock moves, data that the other operations need can
    // expire.
    const order = [...operations].sort(
      ([a], [b]) => Number(a.includes('/sandbox/clock')) - Number(b.includes('/sandbox/clock')),
    );
    for (const [name, operation] of order) {
      const property = fc.asyncProperty(inputOf(name, operation), async (input) => {
        const { method, address, options, isRight } = sent(name, operation, input);
        let answer: Answer;
        try {
          answer = await app.call(method, address, options);
        } catch (error) {
          throw new Error(`${method} ${address} ${options.body}: ${(error as Error).message}`, { cause: error });
        }
        if (answer.status < 400) succeeded.add(name);
        else if (!isRight) refused.add(name);
        if (answer.status >= 500 || (!isRight && answer.status < 400))
          throw new Error(`${method} ${address} ${options.body} → ${answer.status} ${answer.text}`);
      });
      const result = await fc.check(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
      if (result.failed) failures.push(`${name}: ${(result.errorInstance as Error | null)?.message ?? 'interrupted'}`);
    }
    expect(failures).toEqual([]);
    // Most operations must succeed at least once; otherwise, the test would check only refusals.
    const never = operations.map(([name]) => name).filter((name) => !succeeded.has(name));
    expect(never.length).toBeLessThan(operations.length / 2);
    expect(refused.size).toBeGreaterThan(40);
    expect((await app.call('GET', '/health/ready')).status).toBe(200);
  }, 240_000);
});

/** Returns a generated value as text for a path, a query or a header. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
