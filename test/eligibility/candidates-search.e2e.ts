import { startApp, type TestApp } from '../support/app';

let app: TestApp;
let operator: string;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const search = (query: string) => app.call('GET', `/admin/candidates?${query}`, { token: operator });
const ids = async (q: string, more = '') => {
  const answer = await search(`q=${encodeURIComponent(q)}${more}`);
  expect(answer.status).toBe(200);
  return (answer.body as Record<string, any>[]).map((row) => row['svc_eligiblity_id'] as string);
};

describe('the search of candidates', () => {
  it('the candidate search finds a record by the beginning of any of its names and codes, in upper or lower case', async () => {
    const record = await app.given.eligibility(scene, {
      client_eligibility_id: 'Zeta-77',
      candidate: {
        candidate_id: 'QQ-Alpha',
        first_name: 'Wilhelmina',
        last_name: 'Oudekerk',
        email: 'Wil.O@example.org',
      },
    });
    await app.given.eligibility(scene);
    const booking = await app.given.booking(scene, record);
    await app.call('DELETE', `/accounts/${scene.account}/bookings/${booking['booking_code']}`, { token: scene.token });
    const id = record['svc_eligiblity_id'] as string;
    const code = booking['booking_code'] as string;
    for (const q of [
      'qq-al',
      'WILHEL',
      'oude',
      'wilhelmina oude',
      'wil.o@',
      'zeta',
      id.toLowerCase(),
      code.toLowerCase(),
    ])
      expect([q, await ids(q)]).toEqual([q, [id]]);
    for (const q of ['udekerk', '%', '_', 'nobody at all']) expect([q, await ids(q)]).toEqual([q, []]);
    const [found] = (await search('q=qq-alpha')).body;
    expect(found).toMatchObject({ account_code: scene.account, status: 'ELIGIBLE', candidate: record['candidate'] });
  });

  it('the candidate search ignores the case of letters in every script', async () => {
    const record = await app.given.eligibility(scene, {
      candidate: { first_name: 'Ödön', last_name: 'ÅSTRÖM-Παπάς', email: 'ΝΊΚΟΣ@example.org' },
    });
    const id = record['svc_eligiblity_id'] as string;
    for (const q of ['ödöN åst', 'ÖDÖN', 'åström-ΠΑΠΆΣ', 'åström-πΑΠΆς', 'νίκος@', 'νίκοσ'])
      expect([q, await ids(q)]).toEqual([q, [id]]);
  });

  it("the candidate search finds a candidate by some of the name's words, in any order and without accents or punctuation", async () => {
    const found = new Map<string, string>();
    for (const [first_name, middle_name, last_name] of [
      ['María', 'del Carmen', 'Fernández Núñez'],
      ['Siobhán', null, "O'Brien"],
      ['Anne-Marie', null, 'van Dyke'],
      ['Jürgen', 'Łukasz', 'Weiß-Sørensen'],
    ] as const) {
      const record = await app.given.eligibility(scene, { candidate: { first_name, middle_name, last_name } });
      found.set(first_name, record['svc_eligiblity_id'] as string);
    }
    for (const [q, first] of [
      ['fernandez', 'María'],
      ['Fernandez Nunez, Maria', 'María'],
      ['FERNÁNDEZ, MARÍA', 'María'],
      ['nunez', 'María'],
      ['carmen fern', 'María'],
      ['nun mari', 'María'],
      ['obrien', 'Siobhán'],
      ["o'brien siobhan", 'Siobhán'],
      ['O’Brien', 'Siobhán'],
      ['o brien', 'Siobhán'],
      ['dyke anne', 'Anne-Marie'],
      ['vandyke', 'Anne-Marie'],
      ['annemarie van', null],
      ['marie', 'Anne-Marie'],
      ['weiss sorensen', 'Jürgen'],
      ['lukasz jurgen', 'Jürgen'],
      ['fernandez obrien', null],
      ['ernandez', null],
    ] as const)
      expect([q, await ids(q)]).toEqual([q, first === null ? [] : [found.get(first)]]);
  });

  it('the candidate search finds a candidate by the end of a telephone number or by the beginning of a postal code', async () => {
    const candidate = { home_phone: '+1 (217) 555-0173', office_phone: '020 7946 0991', postal_code: 'SW1A 9QQ' };
    const { svc_eligiblity_id: id } = await app.given.eligibility(scene, { candidate });
    for (const q of [
      '2175550173',
      '+1 217 555 0173',
      '001 217 555 0173',
      '555-0173',
      '020 7946 0991',
      '79460991',
      'sw1a9qq',
      'SW1A 9',
    ])
      expect([q, await ids(q)]).toEqual([q, [id]]);
    for (const q of ['173', '555-017', '1A 9QQ', '9QQ']) expect([q, await ids(q)]).toEqual([q, []]);
  });

  it('after an update, the candidate search finds a candidate by the new name, and not by the old name', async () => {
    const record = await app.given.eligibility(scene, { candidate: { last_name: 'Beforehand', postal_code: '70707' } });
    const id = record['svc_eligiblity_id'] as string;
    const candidate = { ...record['candidate'], last_name: 'Áfterwards', postal_code: null, office_phone: '7070700' };
    const path = `/accounts/${scene.account}/candidates/${candidate.candidate_id}/tests/${record['test_code']}`;
    const { status } = await app.call('PUT', path, { token: scene.token, body: { ...record, candidate } });
    expect(status).toBe(204);
    for (const q of ['beforehand', '70707']) expect([q, await ids(q)]).toEqual([q, []]);
    for (const q of ['afterwards ada', '7070700']) expect([q, await ids(q)]).toEqual([q, [id]]);
    const keys = 'SELECT key FROM eligibility_search_keys WHERE svc_eligiblity_id = $1 ORDER BY 1';
    expect((await app.given.sql(keys, [id])).map(({ key }) => key)).toEqual([
      '#0070707',
      'ada afterwards',
      'afterwards ada',
    ]);
  });

  it('the candidate search returns each record once, page by page, and can be limited to one account', async () => {
    const other = await app.given.scene();
    const made: string[] = [];
    for (let n = 0; n < 5; n++)
      for (const where of [scene, other]) {
        const record = await app.given.eligibility(where, { candidate: { first_name: 'Same', last_name: 'Samesson' } });
        if (where === other) made.push(record['svc_eligiblity_id'] as string);
      }
    const walked: string[] = [];
    let path = `/admin/candidates?q=same&account_code=${other.account}&limit=2`;
    for (;;) {
      const answer = await app.call('GET', path, { token: operator });
      walked.push(...(answer.body as Record<string, any>[]).map((row) => row['svc_eligiblity_id'] as string));
      const next = /<([^>]+)>/.exec(answer.headers.get('link') ?? '');
      if (!next) break;
      path = next[1].slice(app.url.length);
    }
    expect(walked.length).toBe(5);
    expect([...walked].sort()).toEqual([...made].sort());
    expect(await ids('same')).toHaveLength(10);
  });

  it('the candidate search lists a record once, even if several of its booking codes begin with the search text', async () => {
    const many = await app.given.scene();
    await app.given.records(230, many, {
      svc_eligiblity_id: `translate(lpad(to_hex(n), 8, 'y'), '0123456789abcdefy', 'ABCDEFGHJKMNPQRSY')`,
    });
    for (const [series, from] of [
      ['A', 1],
      ['B', 100],
    ] as const)
      await app.given.sql(
        `INSERT INTO bookings (booking_code, svc_eligiblity_id, account_code, candidate_id, test_code, status, booking_on,
           event_sequence, created_datetime, updated_datetime)
         SELECT 'WWQ${series}' || translate(lpad((n * 7919 % 1000)::text, 6, '0'), '01', 'XY'), svc_eligiblity_id, account_code,
           candidate_id, test_code, 'CANCELLED', now(), 1, now(), now()
         FROM (SELECT *, row_number() OVER (ORDER BY position) AS n FROM eligibilities WHERE account_code = $1) AS record
         WHERE n >= ${from}`,
        [many.account],
      );
    const walked: string[] = [];
    const sizes: number[] = [];
    let path = '/admin/candidates?q=wwq&limit=90';
    for (;;) {
      const answer = await app.call('GET', path, { token: operator });
      walked.push(...(answer.body as Record<string, any>[]).map((row) => row['svc_eligiblity_id'] as string));
      sizes.push(answer.body.length);
      const next = /<([^>]+)>/.exec(answer.headers.get('link') ?? '');
      if (!next) break;
      path = next[1].slice(app.url.length);
    }
    expect([sizes, new Set(walked).size]).toEqual([[90, 90, 50], 230]);
  });

  it('the candidate search requires a search text and the `admin` scope', async () => {
    expect((await search('')).status).toBe(400);
    expect((await app.call('GET', '/admin/candidates?q=a', { token: scene.token })).status).toBe(403);
  });

  it("the candidate search reads only a small part of an account's records, because the search uses indexes", async () => {
    await app.given.records(20_000, scene, { updated_datetime: `'2020-01-01Z'` });
    await app.given.sql('ANALYZE eligibilities, eligibility_search_keys');
    const since = `/accounts/${scene.account}/eligibilities?updated_since=2099-01-01T00:00:00Z`;
    for (const q of ['bulk', 'bulkson, bulk', 'nobody bulk'])
      expect(await app.given.recordsRead(() => ids(q, '&limit=10'))).toBeLessThan(3000);
    expect(await app.given.recordsRead(() => app.call('GET', since, { token: scene.token }))).toBeLessThan(2000);
  });
});
