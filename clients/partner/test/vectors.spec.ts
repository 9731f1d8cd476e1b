import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { digestOf, MemoryStore, type NotificationRequest, sign, stepsOf, verifySignature } from '../src/index';
import { placeOf } from '../src/notification-store';
import { vectorsText, type vectors } from './vectors';

const FILE = join(__dirname, '../vectors.json');
const made = vectorsText();
// To regenerate clients/partner/vectors.json, run `WRITE_VECTORS=1 npx jest clients/partner`.
if (process.env['WRITE_VECTORS']) writeFileSync(FILE, made);
const kept = JSON.parse(readFileSync(FILE, 'utf8')) as ReturnType<typeof vectors>;
const secondsOf = (text: string) => Date.parse(text) / 1000;

describe('vectors.json', () => {
  it('vectors.json contains exactly the signatures that the service computes', () => {
    expect(readFileSync(FILE, 'utf8')).toBe(made);
  });

  it.each(kept.signatures)(
    'the partner package accepts or refuses a signature as the test vector says: $title',
    ({ headers, body, secrets, now, fault }) => {
      const judged = () => verifySignature(headers, Buffer.from(body), secrets, { now: now * 1000 });
      if (fault === undefined) expect(judged).not.toThrow();
      else expect(judged).toThrow(expect.objectContaining({ name: 'InvalidSignature', code: fault }));
    },
  );

  it.each(kept.signatures)(
    'the Standard Webhooks library accepts or refuses a signature as the test vector says: $title',
    ({ headers, body, secrets, now, genuine }) => {
      jest.useFakeTimers({ now: now * 1000 });
      const accepts = (secret: string) => {
        try {
          new Webhook(secret).verify(body, headers);
          return true;
        } catch {
          return false;
        }
      };
      expect(secrets.some(accepts)).toBe(genuine);
      jest.useRealTimers();
    },
  );

  it.each(kept.ordering)(
    'the store of the partner package applies or skips notifications as the test vector says: $title',
    async ({ received, outcomes, newest }) => {
      const store = new MemoryStore();
      const said: string[] = [];
      const worked: boolean[] = [];
      for (const [index, { id, event_sequence, record, ...members }] of received.entries()) {
        const notification = { ...members, client_eligibility_id: record } as unknown as NotificationRequest;
        worked[index] = false;
        said.push(
          await store.once({ id, sequence: event_sequence, notification }, (_none, isNewestOfRecord) => {
            worked[index] = isNewestOfRecord;
            return Promise.resolve();
          }),
        );
      }
      expect(said).toEqual(outcomes);
      expect(worked).toEqual(newest);
    },
  );

  it.each(kept.digests)(
    'the partner package computes the digest of each notification in the test vector: $title',
    ({ from, to, step_s, kept: notifications, steps }) => {
      const all = notifications.map(({ id, event_sequence, body }) => ({
        id,
        atS: placeOf(JSON.parse(body) as NotificationRequest).atS,
        digest: digestOf(id, event_sequence, Buffer.from(body)),
      }));
      expect(stepsOf(all, secondsOf(from), secondsOf(to), step_s)).toEqual(steps);
    },
  );

  it('the partner package computes the same signature as the service', () => {
    const [{ headers, body, secrets, now }] = kept.signatures;
    expect(sign(secrets, headers['webhook-id'], now, Buffer.from(body))).toBe(headers['webhook-signature']);
  });
});
