import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { eventually } from '../support/eventually';
import { startApp, type Answer, type TestApp } from '../support/app';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

const CSV = { 'content-type': 'text/csv' };
const END = '2030-01-31T08:00:00Z';

describe('an import of CSV', () => {
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());
  beforeEach(async () => (scene = await app.given.scene()));

  const send = (body: string | Buffer, query = '', headers: Record<string, string> = CSV): Promise<Answer> =>
    app.call('POST', `/accounts/${scene.account}/eligibility-imports${query}`, { token: scene.token, body, headers });
  const state = async (id: string) =>
    (await app.call('GET', `/accounts/${scene.account}/eligibility-imports/${id}`, { token: scene.token })).body;
  const done = (id: string) =>
    eventually(async () => {
      const now = await state(id);
      expect(now.state).toBe('DONE');
      return now;
    });
  const report = async (id: string) =>
    (await app.call('GET', `/accounts/${scene.account}/eligibility-imports/${id}/report`, { token: scene.token })).text
      .trim()
      .split('\r\n')
      .slice(1);
  const imported = async (body: string | Buffer, query = ''): Promise<Record<string, any> & { lines: string[] }> => {
    const answer = await send(body, query);
    expect([answer.status, answer.text]).toEqual([202, expect.stringContaining('import_id')]);
    const id: string = answer.body.import_id;
    return { id, ...(await done(id)), lines: await report(id) };
  };
  const candidate = async (id: string) =>
    (await app.call('GET', `/accounts/${scene.account}/candidates/${encodeURIComponent(id)}`, { token: scene.token }))
      .body;

  it('an import creates records by the same rules as POST requests', async () => {
    const key = await app.given.attributeKey(scene.account, 'badge');
    const two = await app.given.test(scene.account, {
      portions: [
        { portion_code: 'P1', portion_name: null },
        { portion_code: 'P2', portion_name: null },
      ],
    });
    const voucher = await app.given.voucher(scene.account);
    const result = await imported(
      `candidate_id,candidate.first_name,last_name,test_code,portion_codes,voucher_codes,attributes.${key},eligibility_end_date,country,status\n` +
        `A-1,Ada,Lovelace,${two},P1;P2,${voucher},b-7,${END},de,ELIGIBLE\n` +
        `A-2,Grace,Hopper,${scene.testCode},,,,,,\n` +
        `A-3,,Nobody,${scene.testCode},,,,,XX,\n`,
    );
    expect(result).toMatchObject({ rows: 3, done: 3, created: 2, updated: 0, cancelled: 0, refused: 1 });
    expect(result.started).not.toBeNull();
    expect(result.finished).not.toBeNull();
    expect(result.lines).toEqual([
      `1,CREATED,,,,2,A-1,${two},${(await candidate('A-1'))[0].svc_eligiblity_id},,`,
      `2,CREATED,,,,3,A-2,${scene.testCode},${(await candidate('A-2'))[0].svc_eligiblity_id},,`,
      `3,REFUSED,country_invalid,/candidate/country,Must be a two-letter code of ISO 3166-1 alpha-2.,4,A-3,${scene.testCode},,country,XX`,
      `3,REFUSED,required,/candidate/first_name,Must be given.,4,A-3,${scene.testCode},,candidate.first_name,`,
    ]);
    const [ada] = await candidate('A-1');
    expect(ada).toMatchObject({
      portion_codes: ['P1', 'P2'],
      eligibility_end_date: END,
      candidate: { first_name: 'Ada', country: 'DE', additional_attributes: [{ key, value: 'b-7' }] },
    });
    const audit = await app.given.sql('SELECT action, actor FROM audit_log WHERE subject = $1', [
      ada.svc_eligiblity_id,
    ]);
    expect(audit[0]).toMatchObject({ action: 'eligibility.create', actor: expect.stringMatching(/^user-/) });
  });

  it('an import accepts quotes, a byte order mark, CRLF, empty lines and cells that contain line breaks', async () => {
    const result = await imported(
      `\ufeff"candidate_id","first_name","last_name","test_code"\r\n` +
        `Q-1,"Ada ""Countess""","King, Lovelace",${scene.testCode}\r\n\r\n` +
        `Q-2,"Ada\nByron",Lovelace,${scene.testCode}`,
    );
    expect(result).toMatchObject({ rows: 2, created: 1, refused: 1 });
    expect(result.lines[1]).toMatch(/^2,REFUSED,control_character,\/candidate\/first_name,/);
    expect((await candidate('Q-1'))[0].candidate).toMatchObject({
      first_name: 'Ada "Countess"',
      last_name: 'King, Lovelace',
    });
  });

  it('an import creates, updates and cancels records in the order of its rows, each row independently', async () => {
    const line = (id: string, action: string, city: string) =>
      `${id},Ada,Lovelace,${scene.testCode},${city},${action}\n`;
    const result = await imported(
      'candidate_id,first_name,last_name,test_code,city,action\n' +
        line('S-1', '', 'Rome') +
        line('S-1', 'ADD', 'Oslo') +
        line('S-1', 'UPDATE', 'Paris') +
        line('S-2', 'UPDATE', 'Rome') +
        line('S-3', 'ADD', 'Rome') +
        `S-3,,,${scene.testCode},,CANCEL\n` +
        line('S-3', 'add', 'Rome'),
    );
    expect(result).toMatchObject({ rows: 7, created: 2, updated: 1, cancelled: 1, refused: 3 });
    expect(result.lines.map((text) => text.split(',').slice(1, 3).join(' '))).toEqual([
      'CREATED ',
      'REFUSED duplicate_eligibility',
      'UPDATED ',
      'REFUSED eligibility_not_found',
      'CREATED ',
      'CANCELLED ',
      'REFUSED action_invalid',
    ]);
    expect((await candidate('S-1'))[0].candidate.city).toBe('Paris');
    expect((await candidate('S-3'))[0].status).toBe('CANCELLED');
  });

  it('an import undoes all changes of a refused row, and keeps the changes of the other rows', async () => {
    const voucher = await app.given.voucher(scene.account, { max_uses: 1 });
    const rows = ['V-1', 'V-2', 'V-3'].map(
      (id, index) => `${id},Ada,Lovelace,${scene.testCode},${index === 2 ? '' : voucher}`,
    );
    const result = await imported(`candidate_id,first_name,last_name,test_code,voucher_codes\n${rows.join('\n')}`);
    expect(result.lines.map((text) => text.split(',').slice(1, 4).join(' '))).toEqual([
      'CREATED  ',
      'REFUSED voucher_exhausted /voucher_codes/0',
      'CREATED  ',
    ]);
    expect((await app.call('GET', `/accounts/${scene.account}/candidates/V-2`, { token: scene.token })).status).toBe(
      404,
    );
    expect(await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [voucher])).toEqual([{ uses: 1 }]);
  });

  it('a refused import row does not replace an expired record, and the voucher of the record stays redeemed', async () => {
    const voucher = await app.given.voucher(scene.account, { max_uses: 1 });
    await app.given.eligibility(scene, { client_eligibility_id: 'EL-1' });
    const expired = await app.given.eligibility(scene, { voucher_codes: [voucher] });
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 hour' WHERE svc_eligiblity_id = $1`,
      [expired['svc_eligiblity_id']],
    );
    const header = 'candidate_id,first_name,last_name,test_code,client_eligibility_id\n';
    const row = (id: string, clientId: string) => `${id},Ada,Lovelace,${scene.testCode},${clientId}\n`;
    const id: string = expired['candidate'].candidate_id;
    const refused = await imported(header + row(id, 'EL-1') + row('W-1', ''));
    expect(refused.lines.map((text) => text.split(',').slice(1, 3).join(' '))).toEqual([
      'REFUSED client_eligibility_id_in_use',
      'CREATED ',
    ]);
    const uses = () => app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [voucher]);
    expect(await uses()).toEqual([{ uses: 1 }]);
    expect(await imported(header + row(id, 'EL-2') + row('W-2', ''))).toMatchObject({ created: 2 });
    expect(await uses()).toEqual([{ uses: 0 }]);
  });

  it('a dry run of an import changes nothing, and reports the changes that the import would make', async () => {
    const result = await imported(
      `candidate_id,first_name,last_name,test_code\nD-1,Ada,Lovelace,${scene.testCode}\nD-1,Ada,Lovelace,${scene.testCode}`,
      '?dry_run=true',
    );
    expect(result).toMatchObject({ dry_run: true, created: 1, refused: 1 });
    expect((await app.call('GET', `/accounts/${scene.account}/candidates/D-1`, { token: scene.token })).status).toBe(
      404,
    );
    expect(
      await app.given.sql(`SELECT 1 FROM audit_log WHERE action = 'eligibility.create' AND subject NOT IN
        (SELECT svc_eligiblity_id FROM eligibilities)`),
    ).toEqual([]);
  });

  it('an import adds nothing to the change feed for a dry run or a refused row', async () => {
    const { body: start } = await app.call('GET', `/accounts/${scene.account}/changes`, { token: scene.token });
    expect(start).toEqual([]);
    const lines = `candidate_id,first_name,last_name,test_code,action\nF-1,A,B,${scene.testCode},ADD\nF-1,A,C,${scene.testCode},UPDATE\nF-1,,,${scene.testCode},CANCEL\nF-1,A,B,${scene.testCode},ADD\n`;
    await imported(lines, '?dry_run=true');
    await imported(lines);
    await app.given.settled();
    const { body: told } = await app.call('GET', `/accounts/${scene.account}/changes`, { token: scene.token });
    expect(told.map((entry: { change: string }) => entry.change)).toEqual([
      'CREATED',
      'UPDATED',
      'CANCELLED',
      'CREATED',
    ]);
  });

  it('an import deletes the content of its rows once they are processed', async () => {
    const { id } = await imported(`candidate_id,first_name,last_name,test_code\nK-1,Ada,Lovelace,${scene.testCode}`);
    const chunks = await app.given.sql('SELECT rows, outcomes FROM eligibility_import_chunks WHERE import_id = $1', [
      id,
    ]);
    const [{ svc_eligiblity_id }] = await candidate('K-1');
    expect(chunks).toEqual([{ rows: null, outcomes: [['CREATED', 2, 'K-1', scene.testCode, svc_eligiblity_id]] }]);
  });

  it('an import refuses a file with unknown or repeated columns immediately, and reports all of these columns', async () => {
    const answer = await send('candidate_id,frist_name,first_name,candidate.first_name,last_name\nX,A,A,A,B\n');
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([
      { pointer: '/frist_name', code: 'unknown_field', detail: expect.stringContaining('Did you mean "first_name"?') },
      { pointer: '/candidate.first_name', code: 'column_repeated', detail: expect.any(String) },
      { pointer: '/test_code', code: 'required', detail: expect.any(String) },
    ]);
    expect(await app.given.sql('SELECT 1 FROM eligibility_imports WHERE account_code = $1', [scene.account])).toEqual(
      [],
    );
  });

  it.each([
    ['nothing', '', 400, 'malformed_csv'],
    ['an open quote', 'candidate_id,test_code\n"C-1,x\n', 400, 'malformed_csv'],
    ['bytes that are not UTF-8', Buffer.from('candidate_id,test_code\nC-\xff,x\n', 'latin1'), 400, 'malformed_csv'],
    ['half a character at its end', Buffer.from('candidate_id,test_code\nC-\xc3', 'latin1'), 400, 'malformed_csv'],
    ['a line of 300 KiB', `candidate_id,test_code\n${'x'.repeat(300 * 1024)},y\n`, 413, 'payload_too_large'],
  ])('an import refuses a whole CSV file that contains %s', async (_what, body, status, code) => {
    const answer = await send(body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(await app.given.sql('SELECT 1 FROM eligibility_imports WHERE account_code = $1', [scene.account])).toEqual(
      [],
    );
  });

  it('an import refuses a file with a declared length over 512 MiB before reading its first byte', async () => {
    const sender = request(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
      method: 'POST',
      headers: { ...CSV, authorization: `Bearer ${scene.token}`, 'content-length': String(512 * 1024 * 1024 + 1) },
    });
    sender.on('error', () => undefined);
    sender.flushHeaders();
    const [answer] = (await once(sender, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(413);
    sender.destroy();
  });

  it('an import refuses only the line that does not have as many cells as the header', async () => {
    const result = await imported(
      `candidate_id,first_name,last_name,test_code\nN-1,Ada,Lovelace\nN-2,Ada,Lovelace,${scene.testCode}`,
    );
    expect(result.lines.map((text) => text.split(',').slice(0, 3).join(' '))).toEqual([
      '1 REFUSED column_count_invalid',
      '2 CREATED ',
    ]);
  });

  it.each([
    ['application/json', 415],
    ['text/csv; charset=latin1', 202],
    ['text/csv; charset=klingon', 415],
    ['text/csv; charset=utf-8; header=present', 202],
  ])('an import with the content type %s is answered with %i', async (type, status) => {
    expect((await send('candidate_id,test_code\n', '', { 'content-type': type })).status).toBe(status);
  });

  it('returns 400 for an import if the dry_run parameter is neither true nor false', async () => {
    const answer = await send('candidate_id,test_code\n', '?dry_run=maybe');
    expect([answer.status, answer.body.errors[0].parameter]).toEqual([400, 'dry_run']);
  });

  it('each row of an import requires the scope for its action', async () => {
    scene.token = await app.given.token([scene.account], ['read', 'create']);
    const result = await imported(
      `candidate_id,first_name,last_name,test_code,action\nR-1,A,B,${scene.testCode},ADD\nR-1,A,C,${scene.testCode},UPDATE\nR-1,A,B,${scene.testCode},CANCEL\n`,
    );
    expect(result.lines.map((text) => text.split(',').slice(1, 3).join(' '))).toEqual([
      'CREATED ',
      'REFUSED insufficient_scope',
      'REFUSED insufficient_scope',
    ]);
  });

  it('hides an import from other accounts, and refuses callers without the create scope', async () => {
    const { id } = await imported('candidate_id,test_code\n');
    const other = await app.given.scene();
    for (const path of ['', '/report'])
      expect(
        (await app.call('GET', `/accounts/${other.account}/eligibility-imports/${id}${path}`, { token: other.token }))
          .status,
      ).toBe(404);
    scene.token = await app.given.token([scene.account], ['read']);
    expect((await send('candidate_id,test_code\n')).status).toBe(403);
  });
});
