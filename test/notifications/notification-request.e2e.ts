import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { startApp, type TestApp } from '../support/app';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let schema: Record<string, any>;
let isRequest: (body: unknown) => boolean;
let webhook: Record<string, any>;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, {}, { scene: await app.given.scene() });
  const { body: document } = await app.call('GET', '/openapi.json');
  schema = document.components.schemas.NotificationRequest;
  webhook = document.webhooks.notification.put;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats(ajv);
  isRequest = ajv.compile({
    ...schema,
    unevaluatedProperties: false,
    components: document.components,
  });
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

const full = { client_eligibility_id: 'CE-1', candidate: { middle_name: 'King' } };

test('sends a NotificationRequest that matches the OpenAPI document, with every member in the documented order', async () => {
  const eligibility = await app.given.eligibility(subscribed.scene, full);
  const booking = await app.given.booking(subscribed.scene, eligibility);
  const [request] = await subscribed.partner.receivedFor(booking['booking_code'], 1);
  expect(isRequest(request.json)).toBe(true);
  expect(Object.keys(request.json)).toEqual(Object.keys(schema['properties']));
  expect(isRequest({ ...request.json, change_reason: 'SENT_TO_MARS' })).toBe(false);
  expect(isRequest({ ...request.json, more: 1 })).toBe(false);
});

test('a NotificationRequest that omits members without a value matches the OpenAPI document', async () => {
  const bookingCode = await subscribed.booking({
    delivery_mode: 'SVC_REMOTE_PROCTORED',
    location_code: undefined,
    location_name: undefined,
    location_address: undefined,
    location_timezone: undefined,
  });
  const [request] = await subscribed.partner.receivedFor(bookingCode, 1);
  expect(isRequest(request.json)).toBe(true);
  expect(Object.keys(request.json)).toEqual(expect.arrayContaining(schema['required']));
});

test('the sample notification that verifies a subscription is a complete NotificationRequest', async () => {
  subscribed.partner.requests.length = 0;
  await subscribed.post('verify');
  const [sample] = await subscribed.partner.received(1);
  expect(isRequest(sample.json)).toBe(true);
  expect(Object.keys(sample.json)).toEqual(Object.keys(schema['properties']));
});

test('the OpenAPI document contains an example, the headers and the responses of the request to a partner', async () => {
  const bookingCode = await subscribed.booking();
  const [request] = await subscribed.partner.receivedFor(bookingCode, 1);
  for (const { name } of webhook['parameters']) expect(Object.keys(request.headers)).toContain(name.toLowerCase());
  expect(isRequest(webhook['requestBody'].content['application/json'].example)).toBe(true);
  expect(Object.keys(webhook['responses'])).toEqual(['200', '400', '500', 'default']);
});
