import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NotificationRequest as Sent } from '../../../src/bookings/bookings.events';
import { sampleNotificationRequest } from '../../../src/notifications/notification-request';
import {
  CHANGE_REASONS,
  isSample,
  MalformedNotification,
  type NotificationRequest,
  parseNotification,
} from '../src/index';
import { OPTIONAL_MEMBERS, REQUIRED_MEMBERS } from '../src/notification-request';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Flattens a type, so that a class and an interface with the same members are equal. */
type Flat<T> = T extends object ? { [K in keyof T]: Flat<T[K]> } : T;
// Fails to compile when the package's type and the service's class differ in a member.
const same: Same<Flat<NotificationRequest>, Flat<Sent>> = true;

const { components } = JSON.parse(readFileSync(join(__dirname, '../../../docs/openapi.json'), 'utf8')) as {
  components: { schemas: Record<string, { properties: Record<string, { enum?: string[] }>; required: string[] }> };
};
const schema = components.schemas['NotificationRequest'];
const sample = sampleNotificationRequest(new Date());

describe('the package’s NotificationRequest', () => {
  it('NotificationRequest has the same members in the partner package, in the service and in the OpenAPI document', () => {
    expect(same).toBe(true);
    expect(Object.keys(REQUIRED_MEMBERS).sort()).toEqual([...schema.required].sort());
    expect(Object.keys({ ...REQUIRED_MEMBERS, ...OPTIONAL_MEMBERS }).sort()).toEqual(
      Object.keys(schema.properties).sort(),
    );
    expect([...CHANGE_REASONS].sort()).toEqual([...schema.properties['change_reason'].enum!].sort());
  });

  it('the partner package parses the body of a notification that the service sends', () => {
    expect(parseNotification(JSON.parse(JSON.stringify(sample)))).toEqual(sample);
    expect(isSample(parseNotification(sample))).toBe(true);
  });

  it('the partner package accepts and keeps unknown members of a notification', () => {
    expect(parseNotification({ ...sample, seat: 7 })).toHaveProperty('seat', 7);
  });

  it.each(Object.keys(REQUIRED_MEMBERS))('the partner package refuses a notification without %s', (name) => {
    expect(() => parseNotification({ ...sample, [name]: undefined })).toThrow(MalformedNotification);
  });

  it.each([
    ...Object.keys({ ...REQUIRED_MEMBERS, ...OPTIONAL_MEMBERS }).map((name) => ({ ...sample, [name]: 7 })),
    { ...sample, booking_on: '2026-11-27' },
    { ...sample, booking_on: '2026-13-27T13:35:54Z' },
    { ...sample, change_reason: 'MOVED' },
    { ...sample, exam_portions: [{}] },
    null,
    [],
    'text',
  ])('the partner package refuses to parse %j as a notification', (value) => {
    expect(() => parseNotification(value)).toThrow(MalformedNotification);
  });
});
