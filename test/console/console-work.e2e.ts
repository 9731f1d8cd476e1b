import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { eventually } from '../support/eventually';
import { Deliveries, registrationBody } from '../support/deliveries';

const { MARKUP } = ConsoleDriver;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  driver = await ConsoleDriver.start(app, '/work/approvals');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver.stop();
  await app.close();
});

const row = (text: string) => driver.page.getByRole('row').filter({ hasText: text });
const record = (candidate: object) => app.given.eligibility(scene, { candidate });
/** Creates an accommodation that has a name and needs approval. Returns the code of the accommodation. */
async function namedAccommodation(): Promise<string> {
  const code = await app.given.accommodation(scene.account, true);
  await app.given.sql(`UPDATE accommodations SET name = 'Accommodation, wide' WHERE accommodation_code = $1`, [code]);
  return code;
}
const hold = async (id: string, reason: string) =>
  app.call('POST', `/admin/eligibilities/${id}/hold`, { token: await app.given.operator(), body: { reason } });
const statusOf = async (id: string) =>
  (await app.given.sql('SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1', [id]))[0]['status'] as string;

describe('the work lists', () => {
  it('an operator can approve accommodations in a work list while other operators change the list', async () => {
    const code = await app.given.accommodation(scene.account, true);
    const special_accommodations = [code];
    const { svc_eligiblity_id: id } = await record({
      first_name: MARKUP,
      last_name: 'Approved',
      special_accommodations,
    });
    await driver.goTo('/work/approvals');
    await driver.title('Approvals');
    await row('Approved').getByText(code).first().waitFor();
    await row('Approved').getByText(`Board ${scene.account}`).waitFor();
    await driver.expectGoodPage('work-approvals');
    await record({ last_name: 'Later', special_accommodations });
    await row('Later').waitFor();
    await row('Approved')
      .getByRole('button', { name: /^Approve the accommodations for/ })
      .click();
    await driver.inDialog('Approve').click();
    await driver.told('The accommodations were approved.');
    await row('Approved').waitFor({ state: 'detached' });
    expect(await statusOf(id as string)).toBe('ELIGIBLE');
  });

  it('an operator can decline an accommodation with a reason, and later approve it on the candidate page', async () => {
    const code = await namedAccommodation();
    const { svc_eligiblity_id: id } = await record({ last_name: 'Declined', special_accommodations: [code] });
    await driver.goTo('/work/approvals');
    await row('Declined').getByText('Accommodation, wide').waitFor();
    await row('Declined')
      .getByRole('button', { name: /^Decline the accommodations for/ })
      .click();
    await driver.inDialog('Decline').click();
    await driver.dialog().getByText('Required.').waitFor();
    await driver.dialog().getByLabel('Reason').fill(`No documents ${MARKUP}`);
    await driver.expectGoodPage('work-decline');
    const candidate = row('Declined').getByRole('link');
    const address = await candidate.getAttribute('href');
    await driver.inDialog('Decline').click();
    await driver.told('The accommodations were declined.');
    await row('Declined').waitFor({ state: 'detached' });
    expect(await statusOf(id as string)).toBe('PENDING');
    await driver.page.goto(app.url + address!);
    await driver.page.getByText('Accommodations declined', { exact: true }).waitFor();
    await driver.page.getByText(`Special accommodations declined: No documents ${MARKUP}`).waitFor();
    await driver.button('Approve the accommodations …').click();
    await driver.inDialog('Approve').click();
    await driver.told('The accommodations were approved.');
    expect(await statusOf(id as string)).toBe('ELIGIBLE');
  });

  it('an operator can approve 25 records at once, and sees how many of these approvals were refused', async () => {
    const code = await app.given.accommodation(scene.account, true);
    const made = [];
    for (let number = 0; number < 25; number++)
      made.push(await record({ last_name: `Many ${number}`, special_accommodations: [code] }));
    await driver.goTo('/work/approvals');
    await row('Many 24').waitFor();
    await driver.page.getByLabel('All rows shown').check();
    await driver.page.getByText('26 selected').waitFor();
    await driver.expectGoodPage('work-approvals-selected');
    await driver.page.getByLabel(`Select ${made[0]['svc_eligiblity_id']}`).uncheck();
    // Another operator decides on one of the records in the meantime.
    const operator = await app.given.operator();
    const taken = made[1];
    await app.call(
      'DELETE',
      `/accounts/${scene.account}/candidates/${taken['candidate'].candidate_id}/tests/${scene.testCode}`,
      { token: operator },
    );
    await driver.button('Approve selected …').click();
    await driver.inDialog('Approve 25').click();
    await driver.told('24 of 25 approved. 1 could not be approved, because another operator had already decided');
    await row('Many 24').waitFor({ state: 'detached' });
    const statuses = await Promise.all(made.map((one) => statusOf(one['svc_eligiblity_id'] as string)));
    expect(statuses).toEqual(['PENDING', 'CANCELLED', ...Array.from({ length: 23 }, () => 'ELIGIBLE')]);
  });

  it('an operator can decline several records with one reason', async () => {
    const code = await app.given.accommodation(scene.account, true);
    const ids: string[] = [];
    for (const last_name of ['Several one', 'Several two'])
      ids.push((await record({ last_name, special_accommodations: [code] }))['svc_eligiblity_id'] as string);
    await driver.goTo('/work/approvals');
    await row('Several two').waitFor();
    for (const id of ids) await driver.page.getByLabel(`Select ${id}`).check();
    await driver.button('Decline selected …').click();
    await driver.inDialog('Decline 2').click();
    await driver.dialog().getByText('Required.').waitFor();
    await driver.dialog().getByLabel('Reason').fill('No documents for either');
    await driver.inDialog('Decline 2').click();
    await driver.told('2 of 2 declined.');
    await row('Several').first().waitFor({ state: 'detached' });
    const declined = await app.given.sql(
      'SELECT status, decline_reason FROM eligibilities WHERE svc_eligiblity_id = ANY ($1)',
      [ids],
    );
    expect(declined).toEqual(ids.map(() => ({ status: 'PENDING', decline_reason: 'No documents for either' })));
  });

  it('an operator can release several holds at once, and opens a candidate from the list of holds', async () => {
    const ids: string[] = [];
    for (const last_name of ['Held one', 'Held two']) {
      const id = (await record({ last_name }))['svc_eligiblity_id'] as string;
      await hold(id, 'Identity');
      ids.push(id);
    }
    await driver.goTo('/work/holds');
    await row('Held two').getByRole('link').click();
    await driver.title(/Held two/);
    await driver.page.goBack();
    for (const id of ids) await driver.page.getByLabel(`Select ${id}`).check();
    await driver.button('Release selected …').click();
    await driver.inDialog('Release 2').click();
    await driver.told('2 of 2 released.');
    await driver.page.getByText('No record is on hold.').waitFor();
    expect(await Promise.all(ids.map(statusOf))).toEqual(['ELIGIBLE', 'ELIGIBLE']);
  });

  it('an operator can release holds by keyboard alone', async () => {
    const { svc_eligiblity_id: id } = await record({ last_name: 'Holder' });
    await hold(id as string, `Identity ${MARKUP}`);
    await driver.goTo('/work/holds');
    await row('Holder').getByText(`Identity ${MARKUP}`).waitFor();
    await driver.expectGoodPage('work-holds');
    await row('Holder')
      .getByRole('button', { name: /^Release/ })
      .focus();
    await driver.page.keyboard.press('Enter');
    await driver.inDialog('Release').focus();
    await driver.page.keyboard.press('Enter');
    await driver.told('The hold was released.');
    expect(await statusOf(id as string)).toBe('ELIGIBLE');
    await driver.page.getByText('No record is on hold.').waitFor();
  });

  it('an operator sees an unmatched result beside the candidates to whom it may belong, and accepts it for one of them', async () => {
    const named = { first_name: 'Grace', last_name: 'Unmatched', email: 'grace@example.org' };
    const { svc_eligiblity_id: id } = await record(named);
    await new Deliveries(app).register(
      scene.token,
      registrationBody({
        examMetaData: { examCode: MARKUP },
        examTakerEmail: 'grace@example.org',
        examTakerFirstName: 'Grace',
        examTakerLastName: 'Unmatched',
      }),
    );
    await driver.goTo('/work/unmatched');
    await driver.title('Unmatched results');
    await driver.expectGoodPage('work-unmatched');
    await driver.link(/Grace Unmatched/).click();
    await driver.openPage();
    await driver.page.getByText('Same e-mail address').waitFor();
    await driver.expectGoodPage('work-unmatched-result');
    await driver.page.reload();
    await driver.button('Accept for Grace Unmatched').click();
    await driver.inDialog('Accept').click();
    await driver.told('The result was accepted.');
    await driver.title('Unmatched results');
    expect(await statusOf(id as string)).toBe('COMPLETED');
  });

  it('an operator who types the code of an exam sees this exam before accepting a result for it', async () => {
    const eligibility = await record({ first_name: 'Typed', last_name: 'Exam' });
    const id = eligibility['svc_eligiblity_id'] as string;
    const { booking_code: code } = await app.given.booking(scene, eligibility);
    await new Deliveries(app).put(scene, {
      candidate_id: app.given.unique('NOBODY-'),
      overall_score_scaled: 'high',
      result: 'pass',
    });
    await driver.goTo('/work/unmatched');
    await driver.link(/NOBODY-/).click();
    await driver.page.getByText('/overall_score_scaled').waitFor();
    const field = driver.page.getByLabel(/^Booking code, record id/);
    await field.fill('NOWHERE');
    await driver.button('Accept for this exam …').click();
    await driver.page.getByText('No exam has this code.').waitFor();
    await field.fill((code as string).toLowerCase());
    await driver.button('Accept for this exam …').click();
    await driver.dialog().getByText('Typed Exam').waitFor();
    await driver.dialog().getByText(scene.testCode).waitFor();
    await driver.dialog().getByText(`Board ${scene.account}`).waitFor();
    await driver.dialog().getByText('Booked for').waitFor();
    await driver.dialog().getByText('Springfield Test Center').waitFor();
    await driver.inDialog('Accept').click();
    await driver.told('The result was accepted.');
    expect(await statusOf(id)).toBe('COMPLETED');
  });

  it('an operator can download the bytes of a result body that is not a JSON object', async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x22]);
    await app.call('PUT', `/accounts/${scene.account}`, { token: scene.token, body: bytes });
    await driver.goTo('/work/unmatched');
    await driver.link(/without a candidate/).click();
    const [saved] = await Promise.all([
      driver.page.waitForEvent('download'),
      driver.button('Download the raw body').click(),
    ]);
    expect(await readFile(await saved.path())).toEqual(bytes);
    await driver.button('Reject …').click();
    await driver.dialog().getByLabel('Reason').fill('No result.');
    await driver.inDialog('Reject').click();
    await driver.told('The result was rejected.');
  });

  it('an operator can reject an unmatched result with a reason', async () => {
    await new Deliveries(app).register(
      scene.token,
      registrationBody({ examMetaData: { examCode: 'NOWHERE' }, examTakerLastName: 'Stray' }),
    );
    await driver.goTo('/work/unmatched');
    await driver.link(/Stray/).click();
    await driver.button('Reject …').click();
    await driver.inDialog('Reject').click();
    await driver.dialog().getByText('Required.').waitFor();
    await driver.dialog().getByLabel('Reason').fill('A rehearsal.');
    await driver.inDialog('Reject').click();
    await driver.told('The result was rejected.');
    await driver.page.getByText('There are no unmatched results.').waitFor();
  });

  it('an operator can check a file in a dry run, import the file, and read the report', async () => {
    await driver.goTo('/work/imports');
    await driver.title('Imports');
    const csv = `candidate_id,first_name,last_name,test_code\nUP-1,Ada,L,${scene.testCode}\nUP-2,Ada,L,NO-SUCH-TEST\n`;
    await driver.button('Start the dry run').click();
    await driver.page.getByText('Choose a file.').waitFor();
    await driver.page
      .getByLabel('Account', { exact: true })
      .or(driver.page.getByLabel(/^Account \*?$/))
      .first()
      .fill(scene.account);
    await driver.page
      .locator('#import-file')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await driver.button('Start the dry run').click();
    await driver.told(/A dry run changes no data/);
    await row('dry run').getByText('2 of 2: 1 created, 0 updated, 0 unchanged, 0 cancelled, 1 refused').waitFor();
    await driver.expectGoodPage('work-imports');
    expect(await app.given.sql(`SELECT 1 FROM eligibilities WHERE candidate_id = 'UP-1'`)).toEqual([]);
    const report = driver.page.waitForEvent('download');
    await row('dry run').getByRole('button', { name: 'Report' }).click();
    expect((await report).suggestedFilename()).toMatch(/^import-.*\.csv$/);
    await driver.page.getByText('Dry run', { exact: true }).click();
    await driver.button('Import').click();
    await driver.told(/are being imported/);
    await driver.page.getByText('2 of 2: 1 created, 0 updated, 0 unchanged, 0 cancelled, 1 refused').nth(1).waitFor();
    expect(await app.given.sql(`SELECT 1 FROM eligibilities WHERE candidate_id = 'UP-1'`)).toHaveLength(1);
  });

  it('the console shows the progress of a running import without moving the row under the pointer', async () => {
    const gate = new pg.Client({ connectionString: app.databaseUrl });
    await gate.connect();
    await gate.query('SELECT pg_advisory_lock(1)');
    // A trigger makes one of the import's last rows wait until the test releases it.
    await gate.query(`
      CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
      CREATE TRIGGER gate BEFORE INSERT ON eligibilities FOR EACH ROW
        WHEN (NEW.candidate_id = 'LIVE-2395') EXECUTE FUNCTION wait_at_gate()`);
    try {
      const ids = Array.from({ length: 2400 }, (_, row) => `LIVE-${row + 1}`);
      const csv = ids.map((id) => `${id},Ada,L,${scene.testCode}`).join('\n');
      const body = `candidate_id,first_name,last_name,test_code\n${csv}\n`;
      await driver.goTo('/work/imports');
      await row('dry run').hover();
      const place = await row('dry run').boundingBox();
      const { status } = await fetch(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
        method: 'POST',
        headers: { authorization: `Bearer ${scene.token}`, 'content-type': 'text/csv' },
        body,
      });
      expect(status).toBe(202);
      await driver.button('1 new: show').waitFor();
      expect(await row('dry run').boundingBox()).toEqual(place);
      await driver.button('1 new: show').click();
      const bar = driver.page.getByRole('progressbar', { name: 'Rows processed' }).first();
      const done = async () => Number(await bar.getAttribute('value'));
      await row('RUNNING')
        .getByText(/ of 2,400: /)
        .waitFor();
      await eventually(async () => expect(await done()).toBeGreaterThan(0), 30_000);
      expect(await done()).toBeLessThan(2400);
      await gate.query('SELECT pg_advisory_unlock(1)');
      await driver.page.getByText('2,400 of 2,400: 2,400 created').waitFor();
      await row('RUNNING').waitFor({ state: 'detached' });
    } finally {
      await gate.query('DROP TRIGGER gate ON eligibilities');
      await gate.end();
    }
  }, 120_000);
});
