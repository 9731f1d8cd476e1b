import { gzipSync } from 'node:zlib';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { importsOf } from '../support/imports';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

const HEADER = ['candidate_id', 'first_name', 'last_name', 'test_code'];

describe('a file for an import', () => {
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());
  beforeEach(async () => (scene = await app.given.scene()));

  const imports = () => importsOf(app, () => scene);
  const fileOf = (separator: string, ...ids: string[]) =>
    [HEADER, ...ids.map((id) => [id, 'Zoë', 'Ørsted', scene.testCode])]
      .map((cells) => cells.join(separator))
      .join('\r\n');
  const utf16 = (text: string, isBig: boolean) => {
    const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
    return isBig ? bytes.swap16() : bytes;
  };
  const refusal = async (body: string | Buffer, headers?: Record<string, string>) => {
    const answer = await imports().send(body, headers);
    return { status: answer.status, code: answer.body.code, detail: answer.body.detail, errors: answer.body.errors };
  };

  it.each([
    ['semicolons', () => fileOf(';', 'F-1', 'F-2')],
    ['tabs', () => fileOf('\t', 'F-1', 'F-2')],
    ['a line that names the separator', () => `sep=;\r\n${fileOf(';', 'F-1', 'F-2')}`],
    ['such a line in quotes, and another separator', () => `"sep=|"\n${fileOf('|', 'F-1', 'F-2')}`],
    ['UTF-16, the small end first', () => utf16(fileOf('\t', 'F-1', 'F-2'), false)],
    ['UTF-16, the big end first', () => utf16(fileOf(',', 'F-1', 'F-2'), true)],
    [
      'names in any case, with blanks around',
      () =>
        fileOf(',', 'F-1', 'F-2').replace(HEADER.join(','), ' Candidate_ID ,CANDIDATE.First_Name, last_name,Test_Code'),
    ],
    [
      'empty rows, and empty columns at the right',
      () => fileOf(',', 'F-1', 'F-2').replaceAll('\r\n', ',,\r\n,,,,,\r\n \r\n') + ',,,',
    ],
  ])('an import accepts a file with %s', async (_what, file) => {
    const result = await imports().imported(file());
    expect([result['created'], result['refused'], result.report.map(({ code }) => code)]).toEqual([2, 0, ['', '']]);
    expect((await imports().records('F-2'))[0]['candidate']).toMatchObject({ first_name: 'Zoë', last_name: 'Ørsted' });
  });

  it('an import accepts lists in the cells of a comma-separated file if the lists use another separator', async () => {
    const test = await app.given.test(scene.account, {
      portions: ['P1', 'P2'].map((portion_code) => ({ portion_code, portion_name: null })),
    });
    await imports().imported(`${HEADER.join(',')},portion_codes\nF-3,A,B,${test},P1; P2\n`);
    await imports().imported(`${HEADER.join(',')},portion_codes\nF-4,A,B,${test},${'P1; '.repeat(21)}P2\n`);
    for (const id of ['F-3', 'F-4']) expect((await imports().records(id))[0]['portion_codes']).toEqual(['P1', 'P2']);
  });

  it('an import reads a file in the encoding that its content type declares', async () => {
    const body = Buffer.from(fileOf(',', 'F-4'), 'latin1');
    await imports().imported(body, { 'content-type': 'text/csv; charset=windows-1252' });
    expect((await imports().records('F-4'))[0]['candidate'].first_name).toBe('Zoë');
  });

  it.each([
    ['an Excel workbook', Buffer.from('PK\x03\x04rest'), /Excel workbook.*CSV UTF-8/],
    ['a packed file', gzipSync('candidate_id,test_code\n'), /gzip.*Decompress/],
    ['UTF-16 without a mark', Buffer.from('candidate_id,test_code', 'utf16le'), /UTF-16.*CSV UTF-8/],
    [
      'bytes of Windows-1252',
      Buffer.from('candidate_id,test_code\nA,B\nC-\xff,x\nD,E\n', 'latin1'),
      /^Line 3 .*CSV UTF-8/,
    ],
    ['JSON', '\n [{"test_code":"A"}]', /JSON.*application\/x-ndjson/],
    ['only blank rows', '\n,,\n  \n', /empty/],
  ])('an import refuses a file that is or contains %s, and explains what to do', async (_what, body, detail) => {
    expect(await refusal(body)).toMatchObject({
      status: 400,
      code: 'malformed_csv',
      detail: expect.stringMatching(detail),
    });
  });

  it('an import refuses a file with a quote that is never closed, and reports its line', async () => {
    const rows = Array.from({ length: 3000 }, (_, number) => `C-${number},"two\r\nlines",B,T`);
    rows[1500] = 'C-1500,"first\r\nsecond","open,B,T';
    // The header and 1,500 rows of two lines each fill the first 3,001 lines. In the next row, the second line (line
    // 3003) contains the quote that is never closed.
    expect((await refusal(`${HEADER.join(',')}\r\n${rows.join('\r\n')}\r\n`)).detail).toMatch(/line 3003/);
    expect((await refusal(`${HEADER.join(',')}\nA,B,C,T\n\nA,"open,C,T\n`)).detail).toMatch(/line 4/);
  });

  it('an import reports an unknown column with its number and the nearest known name', async () => {
    const { errors } = await refusal('candidate_id,test_code,End Date,familyName,givenName,Start-Date,colour\n');
    expect(errors.map(({ detail }: { detail: string }) => detail)).toEqual([
      'Column 3, "End Date": there is no such column. Did you mean "eligibility_end_date"?',
      'Column 4, "familyName": there is no such column. Did you mean "last_name"?',
      'Column 5, "givenName": there is no such column. Did you mean "first_name"?',
      'Column 6, "Start-Date": there is no such column. Did you mean "schedule_start_date"?',
      'Column 7, "colour": there is no such column.',
    ]);
  });

  it('an import refuses a file in which every line is quoted as a whole, and explains the cause', async () => {
    const { errors } = await refusal('"candidate_id,first_name,last_name,test_code"\n"A,B,C,T"\n');
    expect(errors[0].detail).toMatch(/whole line is in one pair of quotes/);
  });

  it('the report of an import says that the file has a header line but no rows', async () => {
    const { report } = await imports().imported(`${HEADER.join(',')}\n`);
    expect(report).toMatchObject([{ outcome: 'NOT_DONE', code: 'import_empty' }]);
  });

  it('the report of an import uses the line numbers of the file, which include blank lines and line breaks in cells', async () => {
    const { report } = await imports().imported(
      `\n${HEADER.join(',')},address1\nL-1,A,B,${scene.testCode},\n\n\nL-2,"A\r\nB",C,${scene.testCode},\nL-3,A,B,NONE,x\n`,
    );
    expect(
      report.map(({ row, line, code, column, value, candidate_id: id }) => [row, line, code, id, column, value]),
    ).toEqual([
      ['1', '3', '', 'L-1', '', ''],
      ['2', '6', 'control_character', 'L-2', 'first_name', 'A\r\nB'],
      ['3', '8', 'test_unknown', 'L-3', 'test_code', 'NONE'],
    ]);
  });

  it('the report of an import names the record that caused the refusal of a row', async () => {
    const made = await app.given.eligibility(scene, {
      client_eligibility_id: 'EL-9',
      candidate: { candidate_id: 'W-1' },
    });
    const test = await app.given.test(scene.account);
    const { report } = await imports().imported(
      `${HEADER.join(',')},client_eligibility_id\nW-1,A,B,${scene.testCode},\nW-2,A,B,${test},EL-9\n`,
    );
    expect(report.map(({ code, svc_eligiblity_id: id }) => [code, id])).toEqual([
      ['duplicate_eligibility', made['svc_eligiblity_id']],
      ['client_eligibility_id_in_use', made['svc_eligiblity_id']],
    ]);
  });

  it('an import accepts values that a spreadsheet program seems to have changed, and adds a warning to its report', async () => {
    const { report, ...result } = await imports().imported(
      `${HEADER.join(',')},home_phone\n1.23E+12,A,B,${scene.testCode},#####\n`,
    );
    expect(result).toMatchObject({ created: 1, refused: 0 });
    expect(report.map(({ outcome, code, column, value }) => [outcome, code, column, value])).toEqual([
      ['CREATED', 'scientific_notation', 'candidate_id', '1.23E+12'],
      ['CREATED', 'cell_too_narrow', 'home_phone', '#####'],
    ]);
  });

  it('an import report explains a cell with only spaces, and suggests corrections for a state code and a date without a time', async () => {
    const { report } = await imports().imported(
      `${HEADER.join(',')},country,province_state,eligibility_end_date\nB-1,A,B,${scene.testCode},US,US-MA,  \nB-2,A,B,${scene.testCode},US,ny,2031-05-14\n`,
    );
    expect(report.map(({ column, detail }) => `${column}: ${detail}`)).toEqual([
      expect.stringMatching(/^eligibility_end_date: The cell contains only spaces/),
      expect.stringMatching(/^province_state: .*"MA"/),
      expect.stringMatching(/^eligibility_end_date: .*2031-05-14T23:59:59Z/),
      expect.stringMatching(/^province_state: .*"NY"/),
    ]);
  });

  it('an import refuses a JSON array sent as NDJSON, and explains what to do', async () => {
    const answer = await refusal('[\n{"test_code":"T"}\n]\n', { 'content-type': 'application/x-ndjson' });
    expect(answer).toMatchObject({
      status: 400,
      code: 'malformed_ndjson',
      detail: expect.stringMatching(/JSON array/),
    });
  });

  it('an import refuses NDJSON with a comma at the end of a line, and names the comma as the cause', async () => {
    const { report } = await imports().imported(`{"test_code":"A"},\n`, { 'content-type': 'application/x-ndjson' });
    expect(report).toMatchObject([{ code: 'malformed_json', detail: expect.stringContaining('ends with a comma') }]);
  });

  it('the report of an import and an export file begin with a byte order mark', async () => {
    const { body } = await imports().send(`${HEADER.join(',')}\nBOM-1,A,B,${scene.testCode}\n`);
    await imports().ended(body.import_id as string);
    const report = `${imports().path()}/${body.import_id}/report`;
    for (const path of [report, `/accounts/${scene.account}/eligibilities.csv`]) {
      const answer = await fetch(app.url + path, { headers: { authorization: `Bearer ${scene.token}` } });
      expect(Buffer.from(await answer.arrayBuffer()).subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    }
  });

  it('creates one import when a file is sent twice with one Idempotency-Key, and refuses another file with that key', async () => {
    const file = fileOf(',', 'I-1');
    const headers = { 'idempotency-key': 'season-1' };
    const [first, second] = [await imports().send(file, headers), await imports().send(file, headers)];
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([202, 202, 'true']);
    expect(second.body).toEqual(first.body);
    expect(await imports().ended(first.body.import_id)).toMatchObject({ created: 1 });
    expect(await refusal(`${file}\r\n`, headers)).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    const list = await app.call('GET', imports().path(), { token: scene.token });
    expect(list.body.map(({ import_id: id }: { import_id: string }) => id)).toEqual([first.body.import_id]);
  });

  it('creates one import for a file sent twenty times at once with one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'season-2' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => imports().send(fileOf(',', 'I-2'), headers)));
    expect(answers.every(({ status }) => status === 202 || status === 409)).toBe(true);
    const list = await app.call('GET', imports().path(), { token: scene.token });
    expect(list.body).toHaveLength(1);
  });

  it('an import file that is refused does not use up its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'season-3' };
    expect((await refusal('colour\n', headers)).status).toBe(400);
    expect((await imports().send(fileOf(',', 'I-3'), headers)).status).toBe(202);
  });

  it('the report of an import contains no data of a candidate who was erased', async () => {
    const { import_id: id } = await imports().imported(
      `${HEADER.join(',')},country\nE-77,Edeltraud,B,${scene.testCode},\ne 77,A,B,${scene.testCode},Edeltraud\nE-78,A,B,${scene.testCode},XX\n`,
    );
    const token = await app.given.operator();
    const path = `/admin/accounts/${scene.account}/candidates/E-77/erase`;
    const { body } = await app.call('POST', path, { token, body: { reason: 'asked for' } });
    await eventually(async () =>
      expect((await app.call('GET', `/admin/jobs/${body.job_id}`, { token })).body.state).toBe('DONE'),
    );
    const { report } = await imports().ended(id);
    expect(report.map(({ outcome, candidate_id: who, value }) => [outcome, who, value])).toEqual([
      ['CREATED', expect.stringMatching(/^ERASED-/), ''],
      ['REFUSED', expect.stringMatching(/^ERASED-/), ''],
      ['REFUSED', 'E-78', 'XX'],
    ]);
  });

  it.each(['\u2010', '\u2013', '\u2014', '\u2212'])(
    'an import suggests the existing test when a test code contains the dash %j instead of a hyphen',
    async (dash) => {
      const code = scene.testCode.replace('-', dash);
      const { report } = await imports().imported(`${HEADER.join(',')}\nD-1,A,B,${code}\n`);
      expect(report).toMatchObject([{ code: 'test_code_invalid', column: 'test_code', value: code }]);
      expect(report[0]['detail']).toContain(`Did you mean "${scene.testCode}"?`);
    },
  );

  it('an import report suggests the test code in the right letter case, and names the booking that prevents a CANCEL', async () => {
    const made = await app.given.eligibility(scene, { candidate: { candidate_id: 'N-1' } });
    const { booking_code } = await app.given.booking(scene, made);
    const { report } = await imports().imported(
      `action,${HEADER.join(',')}\nADD,N-2,A,B,${scene.testCode.toLowerCase()}\nCANCEL,N-1,,,${scene.testCode}\n`,
    );
    expect(report.map(({ code, detail }) => [code, detail])).toEqual([
      ['test_unknown', expect.stringContaining(`Did you mean "${scene.testCode}"?`)],
      ['eligibility_booked', `Cancel the booking ${booking_code} first.`],
    ]);
  });

  it('lists the imports of an account only for callers with access to the account', async () => {
    const { status, body } = await app.call('GET', imports().path(), { token: scene.token });
    expect([status, body]).toEqual([200, []]);
    const other = await app.given.scene();
    expect((await app.call('GET', imports().path(), { token: other.token })).status).toBe(403);
  });
});
