import fc from 'fast-check';
import { startApp, type TestApp } from '../support/app';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let catalogue: { portions: string[]; schools: string[]; accommodations: string[]; keys: string[] };

const RUNS = { numRuns: 120, seed: 20_270_131 };

beforeAll(async () => {
  app = await startApp();
  const portions = ['P1', 'P2', 'Ü 3'];
  scene = await app.given.scene({ portions: portions.map((portion_code) => ({ portion_code, portion_name: null })) });
  catalogue = {
    portions,
    schools: [await app.given.school(scene.account), await app.given.school(scene.account, 'école 12')],
    accommodations: [
      await app.given.accommodation(scene.account, false),
      await app.given.accommodation(scene.account, true),
    ],
    keys: [await app.given.attributeKey(scene.account), await app.given.attributeKey(scene.account, 'ключ')],
  };
});
afterAll(() => app.close());

const post = (body: unknown) => app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
const pathOf = (id: string) =>
  `/accounts/${scene.account}/candidates/${encodeURIComponent(id)}/tests/${scene.testCode}`;

const isPlain = (text: string) => !/[\p{Cc}\p{Cs}]/u.test(text);
const text = (maxLength: number) => fc.string({ unit: 'binary', maxLength }).filter(isPlain);
const named = (maxLength: number) => text(maxLength).filter((value) => value.trim() !== '');
const candidateId = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  .map((value) => value.replaceAll(/[/\\\p{C}\p{Z}]/gu, '-'))
  .filter((value) => [...value].length <= 40)
  .map((value) => `${value}${app.given.unique('-')}`.slice(0));
const moment = (from: string, to: string) =>
  fc
    .date({ min: new Date(from), max: new Date(to), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 19) + 'Z');
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

/**
 * Generates valid bodies. The generator is a function, because the codes of the catalogue exist only when the tests
 * run.
 */
const eligibilities = () =>
  fc.record({
    test_code: fc.constant(scene.testCode),
    schedule_start_date: maybe(moment('1970-01-01T00:00:00Z', '2026-01-01T00:00:00Z')),
    eligibility_end_date: maybe(moment('2030-01-01T00:00:00Z', '9999-12-31T23:59:59Z')),
    portion_codes: fc.uniqueArray(fc.constantFrom(...catalogue.portions), { minLength: 1 }),
    client_eligibility_id: maybe(
      fc.stringMatching(/^[A-Za-z0-9._-]{4}$/).map((part) => app.given.unique(part).slice(0, 20)),
    ),
    candidate: fc.record({
      candidate_id: candidateId,
      first_name: named(50),
      middle_name: maybe(named(50)),
      last_name: named(50),
      suffix: maybe(text(10)),
      address1: maybe(text(100)),
      address2: maybe(text(100)),
      city: maybe(text(50)),
      province_state: maybe(text(50)),
      postal_code: maybe(text(10)),
      country: maybe(fc.constantFrom('DE', 'GB', 'JP', 'AQ')),
      email: maybe(fc.constantFrom('ada@example.org', 'jörg.müller@bücher.example', 'a+b@sub.example.co.uk')),
      home_phone: maybe(text(20)),
      office_phone: maybe(text(20)),
      school_code: maybe(fc.constantFrom(...catalogue.schools)),
      special_accommodations: fc.uniqueArray(fc.constantFrom(...catalogue.accommodations)),
      additional_attributes: fc.uniqueArray(fc.record({ key: fc.constantFrom(...catalogue.keys), value: text(60) }), {
        selector: ({ key }) => key,
      }),
    }),
  });

describe('§5 properties', () => {
  it('GET of an eligibility returns every accepted value unchanged, and PUT of the same values answers 204 and changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(eligibilities(), async (body) => {
        const created = await post(body);
        expect([created.status, created.body.errors]).toEqual([200, undefined]);
        expect(created.body).toMatchObject(body);
        const read = async () =>
          (await app.call('GET', pathOf(body.candidate.candidate_id), { token: scene.token })).body as object[];
        expect(await read()).toEqual([created.body]);
        const [record] = await read();
        const put = await app.call('PUT', pathOf(body.candidate.candidate_id), { token: scene.token, body: record });
        expect([put.status, put.body]).toEqual([204, undefined]);
        expect(await read()).toEqual([record]);
      }),
      RUNS,
    );
  });

  it('GET of an eligibility returns the values of any update that was accepted', async () => {
    await fc.assert(
      fc.asyncProperty(eligibilities(), eligibilities(), async (first, second) => {
        await post(first);
        const { candidate_id, special_accommodations } = first.candidate;
        const body = {
          ...second,
          client_eligibility_id: first.client_eligibility_id,
          candidate: { ...second.candidate, candidate_id, special_accommodations },
        };
        const put = await app.call('PUT', pathOf(candidate_id), { token: scene.token, body });
        expect([put.status, put.body]).toEqual([204, undefined]);
        const { body: records } = await app.call('GET', pathOf(candidate_id), { token: scene.token });
        const sorted = (codes: string[]) => [...codes].sort();
        expect({ ...records[0], portion_codes: sorted(records[0].portion_codes as string[]) }).toMatchObject({
          ...body,
          portion_codes: sorted(body.portion_codes),
        });
      }),
      RUNS,
    );
  });

  it('any JSON value of a member is either stored or refused with 400 and a pointer that exists in the input', async () => {
    const members = [
      'test_code',
      'portion_codes',
      'eligibility_end_date',
      'registration_mode',
      'client_eligibility_id',
      'voucher_codes',
      'candidate',
    ];
    const ofCandidate = [
      'candidate_id',
      'first_name',
      'country',
      'email',
      'additional_attributes',
      'special_accommodations',
      'school_code',
    ];
    await fc.assert(
      fc.asyncProperty(
        eligibilities(),
        fc.oneof(
          fc.constantFrom(...members),
          fc.constantFrom(...ofCandidate).map((name) => `candidate.${name}`),
          fc.string(),
        ),
        fc.jsonValue({ maxDepth: 3 }),
        async (valid, place, value) => {
          const body = structuredClone(valid) as Record<string, any>;
          if (place.startsWith('candidate.')) body['candidate'][place.slice(10)] = value;
          else Object.defineProperty(body, place, { value, enumerable: true, configurable: true, writable: true });
          const answer = await post(body);
          if (answer.status === 200) return;
          expect(answer.status).toBe(400);
          if (answer.body.code !== 'validation_error') return;
          expect(answer.body.errors.length).toBeGreaterThan(0);
          for (const { pointer, code } of answer.body.errors as { pointer: string; code: string }[])
            // If a required member is missing, the pointer names its location, which does not exist in the body.
            expect([
              pointer,
              code,
              code === 'required' || code === 'portion_required' || exists(body, pointer),
            ]).toEqual([pointer, code, true]);
        },
      ),
      { ...RUNS, numRuns: 300 },
    );
  });
});

/** Returns whether the JSON Pointer (RFC 6901) points to a value of the document. */
function exists(document: unknown, pointer: string): boolean {
  let value = document;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return true;
}
