import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { name: 'The board' });
  driver = await ConsoleDriver.start(app);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const record = (candidate: object) => app.given.eligibility(subscribed.scene, { candidate });
const tile = (label: string) => driver.link(new RegExp(`^${label}`));

/** Opens the Home page, performs an operator's task, and returns the number of clicks that the task needed. */
async function clicksOf(job: () => Promise<void>): Promise<number> {
  await driver.goTo('');
  await driver.title('Overview');
  driver.clicks.length = 0;
  await job();
  return driver.clicks.length;
}

describe('the work of an operator in the console, from Home', () => {
  it('after typing a name, an operator needs one click to see whether the partner was notified of a moved exam', async () => {
    const made = await record({ first_name: 'Moved', last_name: 'Exam' });
    const { booking_code: code } = await app.given.booking(subscribed.scene, made);
    await subscribed.reschedule(code as string);
    await eventually(async () => {
      const told = await subscribed.notifications(`&booking_code=${code as string}`);
      expect(told.map(({ state }) => state)).toEqual(['DELIVERED', 'DELIVERED']);
    });
    const clicks = await clicksOf(async () => {
      const field = driver.page.getByRole('combobox', { name: /^Search for a page/ });
      await eventually(async () => {
        if (!(await field.isVisible())) await driver.page.keyboard.press('Control+k');
        await field.fill('Moved Exam', { timeout: 1_000 });
      });
      await driver.page.getByRole('option', { name: /^Moved Exam · / }).click();
      const moved = driver.page.locator('.story > li', { hasText: 'Exam moved' });
      await moved.locator('.story-told').getByText('Delivered', { exact: true }).waitFor();
    });
    expect(clicks).toBe(1);
  });

  it('an operator accepts an unmatched result with four clicks', async () => {
    await record({ first_name: 'Grace', last_name: 'Unmatched', email: 'grace@example.org' });
    const body = registrationBody({
      examMetaData: { examCode: 'ELSEWHERE' },
      examTakerEmail: 'grace@example.org',
      examTakerFirstName: 'Grace',
      examTakerLastName: 'Unmatched',
    });
    await new Deliveries(app).register(subscribed.scene.token, body);
    const clicks = await clicksOf(async () => {
      await tile('Unmatched results').click();
      await driver.link(/Grace Unmatched/).click();
      await driver.button('Accept for Grace Unmatched').click();
      await driver.inDialog('Accept').click();
      await driver.told('The result was accepted.');
    });
    expect(clicks).toBe(4);
  });

  it('an operator approves the accommodations of 25 candidates with four clicks', async () => {
    const special_accommodations = [await app.given.accommodation(subscribed.scene.account, true)];
    for (let number = 0; number < 25; number++) await record({ last_name: `Many ${number}`, special_accommodations });
    const clicks = await clicksOf(async () => {
      await tile('Approvals waiting').click();
      await driver.page.getByLabel('All rows shown').check();
      await driver.button('Approve selected …').click();
      await driver.inDialog('Approve 25').click();
      await driver.told('25 of 25 approved.');
    });
    expect(clicks).toBe(4);
  });

  it('an operator corrects and verifies the address of a failing partner with four clicks', async () => {
    subscribed.partner.answer(({ path }) => ({ status: path.includes('/moved/') ? 200 : 404 }));
    await subscribed.booking();
    await eventually(async () => (await subscribed.queue()).length === 1);
    const clicks = await clicksOf(async () => {
      const trouble = driver.page.locator('.troubles li', { hasText: 'The board' });
      await trouble.getByRole('link').first().click({ timeout: 50_000 });
      await driver.link('Settings').click();
      await driver.page.getByLabel('Address').fill(`${subscribed.partner.url}/moved`);
      await driver.button('Save').click();
      await driver.button('Verify').click();
      await driver.page.locator('.report').getByText('Delivered', { exact: true }).waitFor();
    });
    expect(clicks).toBe(4);
    expect((await subscribed.subscription())['state']).toBe('ACTIVE');
  }, 120_000);
});
