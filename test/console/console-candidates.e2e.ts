import { readFileSync } from 'node:fs';
import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries, registrationBody } from '../support/deliveries';

const { MARKUP } = ConsoleDriver;
const PHOTO = Buffer.from('a photograph').toString('base64');

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let driver: ConsoleDriver;
let record: Record<string, any>;
let accommodation: string;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  accommodation = await app.given.accommodation(scene.account, true);
  await app.given.sql(`UPDATE accommodations SET name = 'Accommodation, wide' WHERE accommodation_code = $1`, [
    accommodation,
  ]);
  record = await app.given.eligibility(scene, {
    candidate: {
      first_name: MARKUP,
      last_name: 'Lovelace',
      email: 'ada@example.org',
      special_accommodations: [accommodation],
    },
  });
  driver = await ConsoleDriver.start(app, '/candidates');
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await app?.close();
});

const candidateId = () => record['candidate']['candidate_id'] as string;
const badges = () => driver.page.locator('.record header .badge').allTextContents();
const open = () => driver.goTo(`/candidates/${scene.account}/${candidateId()}`);
const statusOf = async () =>
  (
    await app.given.sql('SELECT status FROM eligibilities WHERE svc_eligiblity_id = $1', [record['svc_eligiblity_id']])
  )[0]['status'] as string;

/** Returns a local time, the given number of days from now, in the format of a form field. */
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 19);

/** Opens a dialog with the given button, confirms the dialog, and waits for the status message. */
async function act(button: string, yes: string, told: string): Promise<void> {
  await driver.button(button).click();
  await driver.inDialog(yes).click();
  await driver.told(told);
}

describe('candidates in the console', () => {
  it('the search of the console finds candidates by parts of a name in any order, and links to their pages', async () => {
    await driver.title('Candidates');
    await driver.page.getByText('Search for a candidate by the beginning of any word of the name, ').waitFor();
    await driver.page
      .getByLabel('Name, telephone, e-mail, id or code')
      .fill(`lovelace, ${MARKUP.slice(0, 4).toUpperCase()}`);
    await driver.page.keyboard.press('Enter');
    await driver.page.getByRole('row').filter({ hasText: 'ada@example.org' }).waitFor();
    await driver.expectGoodPage('candidates');
    await driver.page.reload();
    await driver.link(`${MARKUP} Lovelace`).click();
    await driver.title(`${MARKUP} Lovelace`);
    await driver.page
      .getByText('Pending; next')
      .or(driver.page.getByRole('img', { name: /^Pending; next/ }))
      .waitFor();
    await driver.expectGoodPage('candidate');
  });

  it('an operator can approve a record, hold it with a reason and release it', async () => {
    expect(await badges()).toEqual(['Pending', 'Waiting for approval']);
    await driver.page.getByText('Accommodation, wide').first().waitFor();
    await act('Approve the accommodations …', 'Approve', 'The accommodations were approved.');
    await driver.button('Hold …').click();
    await driver.dialog().getByLabel('Reason').fill(`Identity ${MARKUP}`);
    await driver.inDialog('Hold').click();
    await driver.told('The record was held.');
    await driver.page.getByText(`Held: Identity ${MARKUP}`).waitFor();
    await act('Release the hold …', 'Release', 'The hold was released.');
    await driver.page.getByRole('img', { name: /^Eligible; next/ }).waitFor();
    expect(await statusOf()).toBe('ELIGIBLE');
  });

  it('an operator can add vouchers to a record, and sees an error when a voucher code is unknown', async () => {
    const voucher = await app.given.voucher(scene.account);
    await driver.button('Vouchers …').click();
    await driver.dialog().getByLabel('Voucher codes').fill('NO-SUCH');
    await driver.inDialog('Save').click();
    await driver.dialog().locator('.fault, .note.bad').first().waitFor();
    expect(driver.refusals()).toHaveLength(1);
    await driver.dialog().getByLabel('Voucher codes').fill(voucher);
    await driver.inDialog('Save').click();
    await driver.told('The vouchers were saved.');
    await driver.page.locator('.record').getByText(voucher).waitFor();
  });

  it('an operator can book an exam, then move and cancel the booking, in forms that apply the rules of the OpenAPI document', async () => {
    await driver.button('Book …').click();
    await driver.inDialog('Book').click();
    await driver.dialog().getByText('Required.').waitFor();
    await driver.dialog().getByLabel('Start').fill(inDays(10));
    await driver.dialog().getByLabel('Delivery mode').selectOption('SVC_REMOTE_PROCTORED');
    await driver.inDialog('Book').click();
    await driver.told('The booking was created.');
    await driver.page.getByRole('img', { name: /^Scheduled; next/ }).waitFor();
    await driver.expectGoodPage('candidate-booked');
    await driver.button('Move the booking …').click();
    await driver.dialog().getByLabel('Start').fill(inDays(11));
    await driver.inDialog('Move').click();
    await driver.told('The booking was moved.');
    await act('Cancel the booking …', 'Cancel the booking', 'The booking was cancelled.');
    expect(await statusOf()).toBe('ELIGIBLE');
    const timeline = driver.page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('Booking cancelled').waitFor();
    const titles = await timeline.locator('.story > li > .line > strong').allTextContents();
    expect(titles).toEqual([
      'Booking cancelled',
      'Exam moved',
      'Exam booked',
      'Record updated',
      'Hold released',
      'Record put on hold',
      'Accommodations approved',
      'Record created',
    ]);
  });

  it('the candidate page shows the photo of a result only after a click, which writes an audit row', async () => {
    const deliveries = new Deliveries(app);
    const driverToken = await app.given.token([scene.account], ['results']);
    const examMetaData = { examCode: record['svc_eligiblity_id'] as string };
    const answer = await deliveries.register(
      driverToken,
      registrationBody({ examMetaData, userPhotoBase64String: PHOTO, overAllComments: MARKUP }),
    );
    expect(answer.status).toBe(200);
    await open();
    const results = driver.page.getByRole('region', { name: 'Timeline' });
    await results.getByRole('button', { name: 'Show the result', exact: true }).click();
    const body = driver.dialog().getByLabel('Result', { exact: true });
    await body.waitFor();
    expect(await body.textContent()).not.toContain(PHOTO);
    await driver.inDialog('Close').click();
    await results.getByRole('button', { name: 'Photo and link …' }).click();
    await driver.inDialog('Show').click();
    await body.getByText(PHOTO).waitFor();
    await driver.inDialog('Close').click();
    const rows = await app.given.sql('SELECT action FROM audit_log WHERE subject = $1', [record['svc_eligiblity_id']]);
    expect(rows.filter(({ action }) => action === 'result.read-photo')).toHaveLength(1);
  });

  it('an operator can hold, revoke and release the result of an exam, each with a reason that the page shows', async () => {
    const result = driver.page.getByRole('group', { name: 'Result' });
    await result.getByText('Released', { exact: true }).waitFor();
    for (const [button, action, told, state, reason] of [
      ['Hold the result …', 'Hold', 'The result was held.', 'Held', `A disturbance ${MARKUP}`],
      ['Revoke the result …', 'Revoke', 'The result was revoked.', 'Revoked', 'Another person sat the exam.'],
      ['Release the result …', 'Release', 'The result was released.', 'Released', 'The report was checked.'],
    ]) {
      await driver.button(button).click();
      await driver.inDialog(action).click();
      await driver.dialog().getByText('Required.').waitFor();
      await driver.dialog().getByLabel('Reason').fill(reason);
      await driver.inDialog(action).click();
      await driver.told(told);
      await result.getByText(state, { exact: true }).waitFor();
      await result.getByText(reason).waitFor();
      if (state === 'Held') await driver.expectGoodPage('candidate-result-held');
    }
    const timeline = driver.page.getByRole('region', { name: 'Timeline' });
    for (const title of ['Result held', 'Result revoked', 'Result released']) await timeline.getByText(title).waitFor();
    expect(await statusOf()).toBe('COMPLETED');
  });

  it('when the retake policy refuses a booking, the console shows the date from which another attempt is allowed', async () => {
    const candidate = { candidate_id: app.given.unique('RETAKE-'), last_name: 'Again' };
    const first = await app.given.eligibility(scene, { candidate });
    const examMetaData = { examCode: first['svc_eligiblity_id'] as string };
    await new Deliveries(app).register(scene.token, registrationBody({ examMetaData }));
    await app.given.eligibility(scene, { candidate });
    const policy = (retake: object | null) =>
      app.given.sql('UPDATE tests SET retake = $1 WHERE test_code = $2', [retake, scene.testCode]);
    await policy({ wait_days: 30 });
    await driver.goTo(`/candidates/${scene.account}/${candidate.candidate_id}`);
    await driver.button('Book …').click();
    await driver.dialog().getByLabel('Start').fill(inDays(10));
    await driver.dialog().getByLabel('Delivery mode').selectOption('SVC_REMOTE_PROCTORED');
    await driver.inDialog('Book').click();
    const note = driver.dialog().getByRole('alert');
    await note.getByText(/^Allowed from \d+ \w+ \d{4}/).waitFor();
    await driver.expectGoodPage('candidate-retake');
    await policy({ max_attempts: 1 });
    await driver.inDialog('Book').click();
    await note.getByText('No further attempt is allowed.').waitFor();
    await policy(null);
    expect(driver.refusals()).toHaveLength(2);
    await open();
  });

  it("the candidate page shows the candidate's audit log on request", async () => {
    await driver.button('Show the audit log').click();
    await driver.page.getByRole('region', { name: 'Audit' }).getByText('result.revoke').waitFor();
    await driver.expectGoodPage('candidate-audit');
  });

  it('an operator can export all data of a candidate as one document', async () => {
    await driver.button('Export …').click();
    const download = driver.page.waitForEvent('download');
    await driver.inDialog('Export').click();
    const whole = readFileSync(await (await download).path(), 'utf8');
    expect(whole).toContain('ada@example.org');
    expect(whole).toContain(PHOTO);
    await driver.told('The export is ready.');
  });

  it('an operator can erase a candidate after entering the id and a reason, and sees the progress of the job until its end', async () => {
    await driver.button('Erase …').click();
    await driver.dialog().getByText('The erasure cannot be undone.').waitFor();
    await driver.expectGoodPage('candidate-erase');
    await driver.page.getByLabel('Reason').fill('Asked for it');
    await driver.dialog().getByLabel(`Type ${candidateId()} to continue`).fill(candidateId());
    await driver.inDialog('Erase').click();
    await driver.told('The erasure has started.');
    await driver.page.locator('.page-head', { hasText: 'DONE' }).waitFor();
    await open();
    await driver.page
      .getByText(/not found|does not exist/i)
      .first()
      .waitFor();
    expect(driver.refusals().length).toBeGreaterThan(0);
  });
});
