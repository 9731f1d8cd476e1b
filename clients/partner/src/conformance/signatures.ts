import { randomUUID } from 'node:crypto';
import type { Situation } from './scene.js';

const WRONG = 'Answer a wrong or missing signature with 401.';
const FAR = 'Refuse a timestamp that differs from your clock by more than five minutes.';
const SEVERAL = 'Accept the notification if one of these signatures is valid.';
const BYTES = 'The signature covers the bytes of the body as you receive them, not the parsed body';
const now = () => Math.floor(Date.now() / 1000);

/** Situations that check how the partner verifies signatures. */
export const signatures: readonly Situation[] = [
  {
    title: 'a signature with a secret that is not yours',
    sentence: WRONG,
    play: (scene) => scene.refused(scene.booking().next('BOOKING_CREATED'), [401], { secrets: [scene.foreignSecret] }),
  },
  {
    title: 'a body that differs from the signed body',
    sentence: WRONG,
    async play(scene) {
      const created = scene.booking().next('BOOKING_CREATED');
      const body = Buffer.from(created.body.toString('utf8').replace('Lovelace', 'Byron'));
      await scene.refused(created, [401], { body });
    },
  },
  {
    title: 'an id that differs from the signed id',
    sentence: WRONG,
    play: (scene) =>
      scene.refused(scene.booking().next('BOOKING_CREATED'), [401], { headers: { 'webhook-id': randomUUID() } }),
  },
  {
    title: 'a missing header: the signature, the id or the timestamp',
    sentence: WRONG,
    async play(scene) {
      for (const name of ['webhook-signature', 'webhook-id', 'webhook-timestamp'])
        await scene.refused(scene.booking().next('BOOKING_CREATED'), [401], { headers: { [name]: undefined } });
    },
  },
  {
    title: 'malformed signatures',
    sentence: WRONG,
    async play(scene) {
      for (const signature of ['v1,', 'v1', 'v1,bm9uZQ==', 'v1,\u00ff', 'v2,bm9uZQ==', ', ,'])
        await scene.refused(scene.booking().next('BOOKING_CREATED'), [401], {
          headers: { 'webhook-signature': signature },
        });
    },
  },
  {
    title: 'a valid signature with a timestamp ten minutes in the past',
    sentence: FAR,
    play: (scene) => scene.refused(scene.booking().next('BOOKING_CREATED'), [401], { timestampS: now() - 600 }),
  },
  {
    title: 'a valid signature with a timestamp ten minutes in the future',
    sentence: FAR,
    play: (scene) => scene.refused(scene.booking().next('BOOKING_CREATED'), [401], { timestampS: now() + 600 }),
  },
  {
    title: 'two signatures after a change of the secret, with yours first or last',
    sentence: SEVERAL,
    async play(scene) {
      const { secret, foreignSecret } = scene;
      await scene.taken(scene.booking().next('BOOKING_CREATED'), { secrets: [foreignSecret, secret] });
      await scene.taken(scene.booking().next('BOOKING_CREATED'), { secrets: [secret, foreignSecret] });
    },
  },
  {
    title: 'valid JSON with unusual characters and white space',
    sentence: BYTES,
    async play(scene) {
      const names = { candidate_fname: 'Zoë “Z” 王', candidate_lname: 'O’Neil 👩‍🎓' };
      await scene.taken(scene.booking().next('BOOKING_CREATED', names));
      await scene.taken(scene.booking().next('BOOKING_CREATED', names, 2));
    },
  },
];
