import { readFile } from 'node:fs/promises';
import { cellsOf, refusedPart, rowsOf } from '../../console/src/work/csv-rows';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';

const { MARKUP } = ConsoleDriver;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  driver = await ConsoleDriver.start(app, '/work/imports');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await app?.close();
});

const row = (text: string) => driver.page.getByRole('row').filter({ hasText: text });
const csv = () =>
  [
    'candidate_id,first_name,last_name,test_code',
    `GOOD-1,"Ada, Maria",Lovelace,${scene.testCode}`,
    `BAD-1,"Grace\n${MARKUP.replaceAll('"', '""')}",Hopper,NO-SUCH-TEST`,
    `GOOD-2,Alan,Turing,${scene.testCode}`,
    `BAD-2,,Hamilton,${scene.testCode}`,
  ].join('\n');

/** Waits for a download, and returns its name and text. */
async function downloaded(press: () => Promise<void>): Promise<{ name: string; text: string }> {
  const waiting = driver.page.waitForEvent('download');
  await press();
  const file = await waiting;
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

describe('imports in the console', () => {
  it('the imports page offers a sample file and explains its columns', async () => {
    const sample = await downloaded(() => driver.button('Download a sample file').click());
    expect(sample.name).toBe('import-sample.csv');
    expect(sample.text).toMatch(/^action,candidate_id,first_name,/);
    await driver.page.getByText('Columns of the file').click();
    await driver.page.getByText('Unique id of the candidate in the client system.').waitFor();
    await driver.expectGoodPage('imports-help');
  });

  it('the import page shows the file name and a table of the refused rows, which can be downloaded for correction', async () => {
    await driver.page.getByRole('combobox', { name: 'Account' }).first().fill(scene.account);
    await driver.page
      .locator('#import-file')
      .setInputFiles({ name: 'season 2030.csv', mimeType: 'text/csv', buffer: Buffer.from(csv()) });
    await driver.page.getByText('Dry run', { exact: true }).click();
    await driver.button('Import').click();
    await driver.told(/are being imported/);
    await row('season 2030.csv').getByText('4 of 4: 2 created').waitFor();
    await driver.link('season 2030.csv').click();
    await driver.openPage();
    await driver.title('season 2030.csv');
    await row('BAD-1').getByText('NO-SUCH-TEST').first().waitFor();
    await row('BAD-2').getByText('first_name').waitFor();
    expect(await driver.page.getByRole('row').filter({ hasText: 'GOOD' }).count()).toBe(0);
    expect(await row('BAD-2').getByRole('cell').first().textContent()).toBe('6');
    await driver.expectGoodPage('import');
    const refused = await downloaded(() => driver.button('Download the refused rows').click());
    expect(refused.name).toBe('season 2030-refused.csv');
    const lines = csv().split('\n');
    expect(refused.text).toBe(`${lines[0]}\r\n${lines[2]}\n${lines[3]}\r\n${lines[5]}\r\n`);
  });

  it('after a reload, the refused rows of an import can be downloaded once the operator has chosen the file again', async () => {
    await driver.page.reload();
    await driver.button('Choose the file again to download the refused rows …').waitFor();
    const refused = await downloaded(() =>
      driver.page
        .locator('input[type="file"]')
        .setInputFiles({ name: 'season 2030.csv', mimeType: 'text/csv', buffer: Buffer.from(csv()) }),
    );
    expect(refused.text).toMatch(/^candidate_id,.*\r\nBAD-1,[^]*\r\nBAD-2,[^]*\r\n$/);
  });

  it('the report of an import can be filtered by outcome, and an import without a file name is listed', async () => {
    const [{ import_id: id }] = await app.given.sql('SELECT import_id FROM eligibility_imports');
    const path = `/accounts/${scene.account}/eligibility-imports`;
    const report = await app.call('GET', `${path}/${id}/report?outcome=CREATED`, { token: scene.token });
    expect(report.text.split('\r\n').map((line) => line.split(',')[6])).toEqual([
      'candidate_id',
      'GOOD-1',
      'GOOD-2',
      undefined,
    ]);
    const wrong = await app.call('GET', `${path}/${id}/report?outcome=LOST`, { token: scene.token });
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([400, 'outcome_unknown']);
    await app.call('POST', path, { token: scene.token, headers: { 'content-type': 'text/csv' }, body: csv() });
    await driver.goTo('/work/imports');
    await driver.page.getByLabel('State').selectOption('Done');
    await row('Import without a file name').waitFor();
    const { body } = await app.call('GET', `${path}/${id}`, { token: scene.token });
    expect(body).toMatchObject({ file_name: 'season 2030.csv', account_code: scene.account });
  });
});

describe('the rows of an imported file', () => {
  it('a line break within quotes does not end a CSV row, and each row has the number of the line on which it begins', () => {
    expect(rowsOf('a,b\n"x\ny",1\r\nz,2\n', true)).toEqual([
      { line: 1, text: 'a,b' },
      { line: 2, text: '"x\ny",1' },
      { line: 4, text: 'z,2' },
    ]);
  });

  it('a quote in a line of an NDJSON file does not join the line with the next one', () => {
    expect(rowsOf('{"a":"\\""}\n{}', false).map(({ line }) => line)).toEqual([1, 2]);
  });

  it('the console reads CSV cells with quotes, with doubled quotes, and with an apostrophe before a formula', () => {
    expect(cellsOf(`1,"a ""b"", c",,'=1+1,`)).toEqual(['1', 'a "b", c', '', '=1+1', '']);
  });

  it('the file of refused rows keeps the "sep=" line and the header of the imported file', () => {
    expect(refusedPart('sep=;\nh;i\n1;2\n3;4\n', new Set([4]), true)).toBe('sep=;\r\nh;i\r\n3;4\r\n');
    expect(refusedPart('{"a":1}\n{"a":2}\n', new Set([2]), false)).toBe('{"a":2}\r\n');
  });
});
