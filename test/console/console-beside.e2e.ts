import { startApp, type TestApp } from '../support/app';
import { ConsoleDriver } from '../support/console';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';
import { queueMany } from '../support/queued';
import { Subscribed } from '../support/subscribed';

const ROWS = 40;
const LIST = '/queue/notifications?failure=client_error';

let app: TestApp;
let subscribed: Subscribed;
let driver: ConsoleDriver;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  await queueMany(subscribed, ROWS);
  driver = await ConsoleDriver.start(app, LIST);
});
afterEach(() => driver.expectNoComplaints());
afterAll(async () => {
  await driver?.stop();
  await subscribed?.stop();
  await app?.close();
});

const code = (number: number) => `M${String(number).padStart(9, '0')}`;
const row = (text: string) => driver.page.locator('.beside-list').getByRole('row').filter({ hasText: text });
const link = (number: number) => row(code(number)).getByRole('link', { name: code(number) });
const item = () => driver.page.getByRole('complementary', { name: 'Item details' });
const itemTitle = (name: string | RegExp) => item().getByRole('heading', { level: 1, name });
const parameter = (name: string) => new URL(driver.page.url()).searchParams.get(name);
const scrolled = () => driver.page.evaluate<number>('Math.round(scrollY)');
const isFocused = (selector: string) => driver.page.evaluate(`document.activeElement.matches('${selector}')`);
const closed = () => item().waitFor({ state: 'detached' });

describe('an item beside its list', () => {
  beforeEach(async () => {
    await driver.goTo(LIST);
    await link(1).waitFor();
  });

  it('a click on a row opens the item beside the list, whose rows, columns, filters and scroll position stay the same', async () => {
    await link(20).scrollIntoViewIfNeeded();
    const place = await scrolled();
    const cells = () =>
      driver.page.evaluate<object[]>(
        `[...document.querySelectorAll('.beside-list :is(th, td)')].map((cell) => cell.getBoundingClientRect().toJSON())`,
      );
    const before = await cells();
    await link(20).click();
    await itemTitle(`Booking created ${code(20)}`).waitFor();
    await item().getByText('No attempts yet.').waitFor();
    expect(await cells()).toEqual(before);
    expect(await scrolled()).toBe(place);
    expect(parameter('failure')).toBe('client_error');
    const marked = driver.page.locator('.beside-list tr[aria-current="true"]');
    expect(await marked.allTextContents()).toEqual([expect.stringContaining(code(20))]);
    await driver.expectGoodPage('beside-notification');
  });

  it('a click on another row replaces the open item, and the back button closes it without scrolling the list', async () => {
    await link(30).click();
    await itemTitle(/^Booking created/).waitFor();
    await link(10).scrollIntoViewIfNeeded();
    await row(code(10)).getByText('Booking created').click();
    await itemTitle(`Booking created ${code(10)}`).waitFor();
    expect(await driver.page.getByRole('complementary').count()).toBe(1);
    const place = await scrolled();
    await driver.page.goBack();
    await closed();
    expect([parameter('open'), parameter('failure')]).toEqual([null, 'client_error']);
    await eventually(async () => expect(await scrolled()).toBe(place));
  });

  it('a reload and a link from another user show the same open item, which can be closed', async () => {
    await link(5).click();
    await itemTitle(/^Booking created/).waitFor();
    await driver.page.reload();
    await itemTitle(`Booking created ${code(5)}`).waitFor();
    const other = await driver.another(LIST);
    await other.page.goto(driver.page.url());
    const details = other.page.getByRole('complementary', { name: 'Item details' });
    await details.getByRole('heading', { name: `Booking created ${code(5)}` }).waitFor();
    await details.getByRole('button', { name: 'Close' }).click();
    await details.waitFor({ state: 'detached' });
    expect(new URL(other.page.url()).search).toBe('?failure=client_error');
    await other.page.close();
  });

  it('the keyboard opens an item and moves the focus to its title, and Escape returns the focus to the row', async () => {
    await link(7).focus();
    await driver.page.keyboard.press('Enter');
    await itemTitle(/^Booking created/).waitFor();
    await eventually(async () => expect(await isFocused('.beside-item h1')).toBe(true));
    await driver.button('Filter').click();
    await driver.page.keyboard.press('Escape');
    expect(await item().count()).toBe(1);
    await driver.page.keyboard.press('Escape');
    await closed();
    expect(await driver.page.evaluate('document.activeElement.textContent')).toBe(code(7));
    // When a dialog covers the open item, Escape closes the dialog and not the item.
    await driver.page.keyboard.press('Enter');
    await item().getByRole('button', { name: 'Resolve …' }).click();
    await driver.dialog('Resolve this notification?').waitFor();
    await driver.page.keyboard.press('Escape');
    await driver.dialog().waitFor({ state: 'hidden' });
    expect(await item().count()).toBe(1);
  });

  it('a double click on "Close" closes only the item, so that the back button leads to the page before the list', async () => {
    await driver.goTo('/queue');
    await driver.link('Show all').click();
    await link(4).click();
    await item().getByRole('button', { name: 'Close' }).dblclick();
    await closed();
    await driver.page.goBack();
    await driver.title('Error queue');
  });

  it('Ctrl+click opens the page of the item in a new tab, and "Open page" opens it in the same tab', async () => {
    const [tab] = await Promise.all([
      driver.page.context().waitForEvent('page'),
      link(3).click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await tab.waitForURL(/\/console\/notifications\/[\w-]{36}$/);
    await tab.close();
    expect(await item().count()).toBe(0);
    await link(3).click();
    await driver.openPage();
    await driver.title(`Booking created ${code(3)}`);
    expect(new URL(driver.page.url()).pathname).toMatch(/\/console\/notifications\/[\w-]{36}$/);
  });

  it('in a narrow window, a click on a row and an address with an open item open the page of the item', async () => {
    await link(9).click();
    await itemTitle(/^Booking created/).waitFor();
    const address = driver.page.url();
    await driver.page.setViewportSize({ width: 1000, height: 900 });
    try {
      for (const open of [() => driver.page.goto(address), () => driver.goTo(LIST).then(() => link(9).click())]) {
        await open();
        await driver.page.waitForURL(/\/console\/notifications\/[\w-]{36}$/);
        await driver.title(`Booking created ${code(9)}`);
        expect(await item().count()).toBe(0);
      }
    } finally {
      await driver.page.setViewportSize({ width: 1280, height: 900 });
    }
  });

  it('an item appears without an animation if the browser asks for reduced motion', async () => {
    const duration = async () => {
      await link(2).click();
      await item().waitFor();
      const found = await driver.page.evaluate<string>(
        `getComputedStyle(document.querySelector('.beside-item')).animationDuration`,
      );
      await driver.page.keyboard.press('Escape');
      await closed();
      return parseFloat(found);
    };
    expect(await duration()).toBeGreaterThan(0);
    await driver.page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await duration()).toBe(0);
    await driver.page.emulateMedia({ reducedMotion: null });
  });
});

describe('the work lists', () => {
  const record = (candidate: object) => app.given.eligibility(subscribed.scene, { candidate });

  it('an operator decides about a record in the open item and in the list, and each of them shows the decision', async () => {
    const special_accommodations = [await app.given.accommodation(subscribed.scene.account, true)];
    await record({ last_name: 'Besidely', special_accommodations });
    await record({ last_name: 'Otherly', special_accommodations });
    const held = await record({ last_name: 'Heldly' });
    await driver.goTo('/work/approvals');
    await row('Besidely').getByRole('link').first().click();
    await itemTitle(/Besidely/).waitFor();
    await driver.expectGoodPage('beside-candidate');
    await item().getByRole('button', { name: 'Approve the accommodations …' }).click();
    await driver.inDialog('Approve').click();
    await row('Besidely').waitFor({ state: 'detached' });
    await item().getByText('Eligible', { exact: true }).first().waitFor();
    await row('Otherly').getByRole('link').first().click();
    await itemTitle(/Otherly/).waitFor();
    await row('Otherly')
      .getByRole('button', { name: /^Decline/ })
      .click();
    await driver.dialog().getByLabel('Reason').fill('No documents');
    await driver.inDialog('Decline').click();
    await item().getByText('Accommodations declined', { exact: true }).waitFor();
    await app.call('POST', `/admin/eligibilities/${held['svc_eligiblity_id']}/hold`, {
      token: subscribed.operator,
      body: { reason: 'Identity' },
    });
    await driver.goTo('/work/holds');
    await row('Heldly').getByRole('link').first().click();
    await itemTitle(/Heldly/).waitFor();
  });

  it('the focus returns to the row that was clicked, although the candidate has two rows in the list', async () => {
    const special_accommodations = [await app.given.accommodation(subscribed.scene.account, true)];
    const first = await record({ last_name: 'Doubly', special_accommodations });
    const { candidate_id } = first['candidate'] as { candidate_id: string };
    const testCode = await app.given.test(subscribed.scene.account);
    const candidate = { candidate_id, last_name: 'Doubly', special_accommodations };
    await app.given.eligibility({ ...subscribed.scene, testCode }, { candidate });
    await driver.goTo('/work/approvals');
    for (const number of [1, 0]) {
      const clicked = row('Doubly').nth(number);
      await clicked.getByRole('link').first().click();
      await itemTitle(/Doubly/).waitFor();
      await driver.page.keyboard.press('Escape');
      await closed();
      expect(await clicked.locator(':focus').count()).toBe(1);
    }
  });

  it('a list adds new rows even while the pointer is on the item that is open beside the list', async () => {
    const special_accommodations = [await app.given.accommodation(subscribed.scene.account, true)];
    await record({ last_name: 'Firstly', special_accommodations });
    await driver.goTo('/work/approvals');
    await row('Firstly').getByRole('link').first().click();
    await itemTitle(/Firstly/).hover();
    await record({ last_name: 'Secondly', special_accommodations });
    await row('Secondly').waitFor();
  });

  it('the open item closes when its result is accepted, and an open import shows its refused rows', async () => {
    await record({ first_name: 'Grace', last_name: 'Stray', email: 'stray@example.org' });
    const body = registrationBody({
      examMetaData: { examCode: 'NOWHERE' },
      examTakerEmail: 'stray@example.org',
      examTakerFirstName: 'Grace',
      examTakerLastName: 'Stray',
    });
    await new Deliveries(app).register(subscribed.scene.token, body);
    await driver.goTo('/work/unmatched');
    await row('Stray').getByRole('link').click();
    await itemTitle('Unmatched result').waitFor();
    await driver.button('Accept for Grace Stray').click();
    await driver.inDialog('Accept').click();
    await driver.told('The result was accepted.');
    await closed();
    await driver.page.getByText('There are no unmatched results.').waitFor();

    const path = `/accounts/${subscribed.scene.account}/eligibility-imports`;
    const headers = { 'content-type': 'text/csv' };
    const csv = 'candidate_id,first_name,last_name,test_code\nBAD-1,Ada,L,NO-SUCH-TEST\n';
    await app.call('POST', path, { token: subscribed.scene.token, headers, body: csv });
    await driver.goTo('/work/imports');
    await row('1 of 1: ').getByRole('link').click();
    await item().getByRole('cell', { name: 'NO-SUCH-TEST' }).first().waitFor();
    await driver.expectGoodPage('beside-import');
  });
});
