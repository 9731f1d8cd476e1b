import { randomUUID } from 'node:crypto';
import { answering } from './answering.js';
import { ordering } from './ordering.js';
import type { Scene } from './scene.js';
import { signatures } from './signatures.js';

/** Something that a partner meets sooner or later, and the sentence of docs/notifications.md that says what to do then. */
export interface Situation {
  title: string;
  sentence: string;
  /** @throws Fault */
  play(scene: Scene): Promise<void>;
}

const sample: Situation = {
  title: 'the sample of a verification',
  sentence: 'Answer it with 200, and the subscription is active.',
  async play(scene) {
    const sampled = scene.booking().next('BOOKING_CREATED', {
      booking_code: 'SAMPLE0001',
      candidate_fname: 'Sample',
      candidate_id: 'SAMPLE-CANDIDATE',
      candidate_lname: 'Candidate',
      candidate_mname: 'Q',
      client_eligibility_id: 'SAMPLE-ELIGIBILITY',
      exam_code: 'SAMPLE-EXAM',
      exam_portions: [{ portion_code: 'SAMPLE', portion_name: 'Sample portion' }],
      location_code: 'SAMPLE-SITE',
    });
    await scene.taken(sampled);
    // An operator may verify more than once; each sample has an id of its own.
    await scene.taken({ ...sampled, id: randomUUID() });
  },
};

/** Every situation, in the order in which they are played. */
export const SITUATIONS: readonly Situation[] = [sample, ...ordering, ...signatures, ...answering];
