import { randomUUID } from 'node:crypto';
import { answering } from './answering.js';
import { ordering } from './ordering.js';
import type { Situation } from './scene.js';
import { signatures } from './signatures.js';

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
    // An operator may verify a subscription repeatedly, so the partner must also accept a sample notification with
    // another id.
    await scene.taken({ ...sampled, id: randomUUID() });
  },
};

/** All situations of the conformance test, in the order in which they are played. */
export const SITUATIONS: readonly Situation[] = [sample, ...ordering, ...signatures, ...answering];
