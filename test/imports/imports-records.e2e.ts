import { startApp, type TestApp } from '../support/app';
import { importsOf, withAction } from '../support/imports';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

describe('import lines with the id of a record', () => {
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());
  beforeEach(async () => (scene = await app.given.scene()));

  const imports = () => importsOf(app, () => scene);
  const told = ({ report }: { report: Record<string, string>[] }) =>
    report.map(({ outcome, code, svc_eligiblity_id: id }) => [outcome, code, id].join(' '));

  /** Creates a cancelled eligibility record, and an open record that replaces it. */
  async function closedAndLive(candidate_id: string) {
    const closed = await app.given.eligibility(scene, { candidate: { candidate_id, last_name: 'Maiden' } });
    await app.call('DELETE', `/accounts/${scene.account}/candidates/${candidate_id}/tests/${scene.testCode}`, {
      token: scene.token,
    });
    const live = await app.given.eligibility(scene, {
      eligibility_end_date: '2031-01-31T08:00:00Z',
      candidate: { candidate_id, last_name: 'Married' },
    });
    return { closed: closed['svc_eligiblity_id'] as string, live: live['svc_eligiblity_id'] as string };
  }

  it('importing an export with UPDATE actions changes nothing, even if the file contains closed records', async () => {
    const { closed, live } = await closedAndLive('M-1');
    const before = await imports().records('M-1');
    const result = await imports().imported(withAction(await imports().exported(), 'UPDATE'));
    expect(told(result)).toEqual([`UNCHANGED  ${live}`, `REFUSED record_differs ${live}`]);
    expect(result).toMatchObject({ updated: 0, unchanged: 1, refused: 1 });
    expect(result.report[1]).toMatchObject({ candidate_id: 'M-1', column: 'svc_eligiblity_id', value: closed });
    expect(await imports().records('M-1')).toEqual(before);
  });

  it('importing an unchanged export creates no new record', async () => {
    const { closed, live } = await closedAndLive('M-2');
    const result = await imports().imported(await imports().exported());
    expect(told(result)).toEqual([`REFUSED record_exists ${live}`, `REFUSED record_exists ${closed}`]);
    expect(await imports().records('M-2')).toHaveLength(2);
  });

  it('an import refuses a line for a record whose exam was taken, and reports eligibility_closed', async () => {
    const { svc_eligiblity_id: id } = await app.given.eligibility(scene, { candidate: { candidate_id: 'M-3' } });
    await app.given.sql(`UPDATE eligibilities SET status = 'COMPLETED' WHERE svc_eligiblity_id = $1`, [id]);
    const result = await imports().imported(withAction(await imports().exported(), 'UPDATE'));
    expect(told(result)).toEqual([`REFUSED eligibility_closed ${id}`]);
  });

  it('a CANCEL line cancels only the record whose id it contains', async () => {
    const { closed, live } = await closedAndLive('M-4');
    const line = (id: string) => `M-4,${scene.testCode},CANCEL,${id}\n`;
    const result = await imports().imported(
      `candidate_id,test_code,action,svc_eligiblity_id\n${line(closed)}${line(live)}`,
    );
    expect(told(result)).toEqual([`REFUSED record_differs ${live}`, `CANCELLED  ${live}`]);
  });

  it('a CANCEL line does not cancel a record that has a different client_eligibility_id', async () => {
    const { svc_eligiblity_id: id } = await app.given.eligibility(scene, {
      client_eligibility_id: 'EL-1',
      candidate: { candidate_id: 'M-5' },
    });
    const line = (clientId: string) => `M-5,${scene.testCode},CANCEL,${clientId}\n`;
    const result = await imports().imported(
      `candidate_id,test_code,action,client_eligibility_id\n${line('EL-2')}${line('EL-1')}`,
    );
    expect(told(result)).toEqual([`REFUSED record_differs ${id}`, `CANCELLED  ${id}`]);
  });

  it('an import refuses a line whose record id was changed by a spreadsheet', async () => {
    const result = await imports().imported(
      `candidate_id,first_name,last_name,test_code,svc_eligiblity_id\nM-6,A,B,${scene.testCode},2.35E+81\n`,
    );
    expect(told(result)).toEqual(['REFUSED record_id_invalid ']);
  });

  it("an empty cell of an import clears a value if the line contains the record's id, and otherwise changes nothing", async () => {
    const made = await app.given.eligibility(scene, { candidate: { candidate_id: 'M-7', city: 'Rome' } });
    const header = 'action,candidate_id,test_code,city,svc_eligiblity_id\n';
    const line = (id: string) => `${header}UPDATE,M-7,${scene.testCode},,${id}\n`;
    expect(await imports().imported(line(''))).toMatchObject({ unchanged: 1 });
    expect((await imports().records('M-7'))[0]['candidate'].city).toBe('Rome');
    expect(await imports().imported(line(made['svc_eligiblity_id']))).toMatchObject({ updated: 1 });
    expect((await imports().records('M-7'))[0]['candidate'].city).toBeNull();
  });

  it("an import line with the record's id replaces the vouchers of the record, and a line without the id adds vouchers", async () => {
    const [first, second] = [await app.given.voucher(scene.account), await app.given.voucher(scene.account)];
    const made = await app.given.eligibility(scene, {
      voucher_codes: [first],
      candidate: { candidate_id: 'M-8' },
    });
    const applied = async () =>
      (
        await app.call('GET', `/accounts/${scene.account}/candidates/M-8/tests/${scene.testCode}/vouchers`, {
          token: scene.token,
        })
      ).body.voucher_codes;
    const header = 'action,candidate_id,test_code,voucher_codes,svc_eligiblity_id\n';
    const line = (codes: string, id: string) => `${header}UPDATE,M-8,${scene.testCode},${codes},${id}\n`;
    const id = made['svc_eligiblity_id'] as string;
    await imports().imported(line(second, id));
    expect(await applied()).toEqual([second]);
    await imports().imported(line(first, ''));
    expect([...(await applied())].sort()).toEqual([first, second].sort());
    await imports().imported(line('', id));
    expect(await applied()).toEqual([]);
  });

  it("an import changes only the attributes in its columns, and an empty cell clears an attribute if the line has the record's id", async () => {
    for (const key of ['badge', 'wing', 'shift']) await app.given.attributeKey(scene.account, key);
    const additional_attributes = [
      { key: 'badge', value: '1' },
      { key: 'wing', value: 'north' },
    ];
    const made = await app.given.eligibility(scene, { candidate: { candidate_id: 'M-9', additional_attributes } });
    const attributes = async () => (await imports().records('M-9'))[0]['candidate'].additional_attributes;
    const line = (badge: string, shift: string, id: string) =>
      `action,candidate_id,test_code,attributes.shift,attributes.badge,svc_eligiblity_id\nUPDATE,M-9,${scene.testCode},${shift},${badge},${id}\n`;
    await imports().imported(line('2', '', ''));
    expect(await attributes()).toEqual([
      { key: 'badge', value: '2' },
      { key: 'wing', value: 'north' },
    ]);
    const id = made['svc_eligiblity_id'] as string;
    await imports().imported(line('', 'late', id));
    expect(await attributes()).toEqual([
      { key: 'wing', value: 'north' },
      { key: 'shift', value: 'late' },
    ]);
  });

  it('an import refuses a line if the record would have more than 50 attributes', async () => {
    const keys = Array.from({ length: 52 }, (_, n) => `key-${n}`);
    for (const key of keys) await app.given.attributeKey(scene.account, key);
    const additional_attributes = keys.slice(0, 49).map((key) => ({ key, value: 'v' }));
    await app.given.eligibility(scene, { candidate: { candidate_id: 'M-50', additional_attributes } });
    const count = async () => (await imports().records('M-50'))[0]['candidate'].additional_attributes.length as number;
    const line = (...added: string[]) =>
      `action,candidate_id,test_code,${added.map((key) => `attributes.${key}`).join()}
UPDATE,M-50,${scene.testCode},${added.map(() => 'w').join()}
`;
    const { report } = await imports().imported(line(keys[50], keys[51]));
    expect(report).toMatchObject([{ outcome: 'REFUSED', code: 'too_many', line: '2' }]);
    expect(await count()).toBe(49);
    expect(await imports().imported(line(keys[0], keys[50]))).toMatchObject({ updated: 1 });
    expect(await count()).toBe(50);
    expect(await imports().imported(line(keys[0], keys[50]))).toMatchObject({ refused: 0 });
  });

  it('an import line with only candidate, test and end date extends the window of the record', async () => {
    await app.given.eligibility(scene, { candidate: { candidate_id: 'M-10' } });
    const result = await imports().imported(
      `candidate_id,test_code,eligibility_end_date,action\nM-10,${scene.testCode},2032-01-31T08:00:00Z,UPDATE\n`,
    );
    expect(result).toMatchObject({ updated: 1, refused: 0 });
    expect((await imports().records('M-10'))[0]['eligibility_end_date']).toBe('2032-01-31T08:00:00Z');
  });
});
