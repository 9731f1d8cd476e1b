import pino, { type Logger as Pino } from 'pino';
import { Logger } from '../../src/platform/observability/logger';
import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';

/**
 * Tests the first and last paragraphs of section 7 of the contract: the state of an exam after the service has accepted
 * its result.
 */
let app: TestApp;
let deliveries: Deliveries;
let scene: Scene;
let eligibility: Record<string, any>;
let id: string;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
  eligibility = await app.given.eligibility(scene);
  id = eligibility['svc_eligiblity_id'] as string;
  candidate = eligibility['candidate'].candidate_id as string;
});

const register = (changes: Record<string, unknown> = {}) =>
  deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: id }, ...changes }));
const put = (changes: Record<string, unknown> = {}) => deliveries.put(scene, accountBody(candidate, changes));
const numbers = async () => (await deliveries.revisions(id)).map(({ revision }) => revision as number);

describe('every accepted body becomes a revision', () => {
  it('answers an accepted result with 200 and an empty body', async () => {
    for (const answer of [await register(), await put()]) {
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect(answer.headers.get('content-type')).toBeNull();
    }
  });

  it('returns 200 for a second delivery of the same result body, and changes nothing', async () => {
    const body = registrationBody({ examMetaData: { examCode: id }, userPhotoBase64String: 'QUJD' });
    await deliveries.register(scene.token, body);
    const before = await snapshot();
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()), null, 2);
    for (const again of [
      body,
      reordered,
      { ...body, webCamComments: null, examTakerEmail: null, videoReviewLink: null },
    ])
      expect((await deliveries.register(scene.token, again)).status).toBe(200);
    // In the last body, `webCamComments` is null instead of an empty list. This body therefore creates a new revision.
    expect(await numbers()).toEqual([1, 2]);
    expect({ ...(await snapshot()), revisions: 1, audited: before.audited }).toEqual(before);
  });

  it('creates a new revision for each different body of an exam, keeps all revisions, and makes the newest current', async () => {
    await register({ reviewStatus: 'Pending' });
    await register({ reviewStatus: 'Clean' });
    const { body } = await deliveries.read(scene, candidate);
    expect(body.map((revision: any) => [revision.revision, revision.body.reviewStatus])).toEqual([
      [2, 'Clean'],
      [1, 'Pending'],
    ]);
  });

  it('creates a new revision of a result when only the photo or the video link differs', async () => {
    for (const changes of [
      { userPhotoBase64String: 'QUJD' },
      { userPhotoBase64String: 'QUJE' },
      { videoReviewLink: 'https://v.example/1' },
      { videoReviewLink: 'https://v.example/2' },
      {},
    ])
      await register(changes);
    expect(await numbers()).toEqual([1, 2, 3, 4, 5]);
  });

  it('creates three revisions for the bodies A, B and A, because a body is compared only with the newest body from the same source', async () => {
    await register({ n: 'A' });
    await register({ n: 'B' });
    await register({ n: 'A' });
    await register({ n: 'A' });
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('numbers the revisions of an exam’s results consecutively, whichever of the two routes receives them', async () => {
    await register({ n: 'A' });
    await put({ result_id: app.given.unique('R-') });
    await register({ n: 'A' });
    await register({ n: 'B' });
    const revisions = await deliveries.revisions(id);
    expect(revisions.map(({ revision, source }) => [revision, source])).toEqual([
      [1, 'REGISTRATION'],
      [2, 'ACCOUNT'],
      [3, 'REGISTRATION'],
    ]);
  });

  it('records the time and the sender of a result revision, and writes an audit row', async () => {
    const begun = Date.now();
    await register();
    const [revision] = await deliveries.revisions(id);
    expect(revision['received_datetime'].getTime()).toBeGreaterThanOrEqual(begun);
    expect(revision['received_datetime'].getTime()).toBeLessThanOrEqual(Date.now());
    const audit = await app.given.sql('SELECT actor, action FROM audit_log WHERE subject = $1 ORDER BY id DESC', [id]);
    expect(audit).toContainEqual({ actor: revision['username'], action: 'result.accept' });
  });
});

async function snapshot() {
  const count = async (table: string) =>
    Number((await app.given.sql(`SELECT count(*)::int AS n FROM ${table}`))[0]['n']);
  return {
    revisions: (await deliveries.revisions(id)).length,
    bookings: await deliveries.bookings(id),
    events: await count('domain_events'),
    unmatched: await count('unmatched_results'),
    audited: await count('audit_log'),
    record: await app.given.sql('SELECT * FROM eligibilities WHERE svc_eligiblity_id = $1', [id]),
  };
}

describe('the first accepted result of an exam', () => {
  it('the first accepted result sets the exam to COMPLETED, and raises EXAM_COMPLETED once', async () => {
    const booking = await app.given.booking(scene, eligibility);
    await register({ n: 1 });
    await register({ n: 2 });
    await put();
    expect(await deliveries.status(id)).toBe('COMPLETED');
    expect(await deliveries.bookings(id)).toEqual([
      expect.objectContaining({
        booking_code: booking['booking_code'],
        status: 'COMPLETED',
        delivery_mode: 'SITE_PROCTORED',
        events: ['booking.created', 'booking.exam-completed'],
      }),
    ]);
  });

  it('a result for an exam without a booking creates a booking with delivery_mode null, and the event has the booking’s code and time', async () => {
    await register();
    const [booking, ...more] = await deliveries.bookings(id);
    expect(more).toEqual([]);
    expect(booking).toMatchObject({ status: 'COMPLETED', delivery_mode: null, events: ['booking.exam-completed'] });
    expect(Math.abs(booking['booking_on'].getTime() - Date.now())).toBeLessThan(30_000);
    const [event] = await app.given.sql('SELECT data FROM domain_events WHERE stream = $1', [booking['booking_code']]);
    expect(event['data']).toMatchObject({
      booking_code: booking['booking_code'],
      booking_on: booking['booking_on'].toISOString().slice(0, 19) + 'Z',
      candidate_id: candidate,
    });
    expect(event['data']).not.toHaveProperty('delivery_mode');
  });

  it('the result of a launched exam without a booking creates a booking with the time of the launch', async () => {
    const info = await app.call('GET', `/eligibilities/${id}/testLaunchInfo`, { token: scene.token });
    await fetch(info.body.launch_url as string, { redirect: 'manual' });
    await app.given.sql(`UPDATE launches SET used_at = '2026-01-02T03:04:05Z' WHERE svc_eligiblity_id = $1`, [id]);
    await register();
    const [booking] = await deliveries.bookings(id);
    expect(booking['booking_on'].toISOString()).toBe('2026-01-02T03:04:05.000Z');
  });
});

describe('a late result', () => {
  it('a late result completes an EXPIRED exam', async () => {
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 day' WHERE svc_eligiblity_id = $1`,
      [id],
    );
    expect((await register()).status).toBe(200);
    expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
  });

  it('a late result completes the expired record that it names, not the newer record', async () => {
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 day' WHERE svc_eligiblity_id = $1`,
      [id],
    );
    const newer = await app.given.eligibility(scene, { candidate: { candidate_id: candidate } });
    expect(await deliveries.status(id)).toBe('EXPIRED');
    expect((await register()).status).toBe(200);
    expect(await deliveries.status(id)).toBe('COMPLETED');
    expect(await deliveries.status(newer['svc_eligiblity_id'] as string)).toBe('ELIGIBLE');
  });

  it('a late result completes an ABSENT exam under the booking that the candidate missed', async () => {
    const { booking_code } = await app.given.booking(scene, eligibility);
    const path = `/accounts/${scene.account}/bookings/${booking_code}/absence`;
    expect((await app.call('POST', path, { token: scene.token, body: { excused: false } })).status).toBe(204);
    expect((await register({ examMetaData: { examCode: booking_code } })).status).toBe(200);
    expect(await deliveries.status(id)).toBe('COMPLETED');
    expect(await deliveries.bookings(id)).toEqual([
      expect.objectContaining({
        booking_code,
        status: 'COMPLETED',
        events: ['booking.created', 'booking.absent', 'booking.exam-completed'],
      }),
    ]);
  });
});

describe('results of both sources for one exam', () => {
  it('accepts the account result of an exam before its registration result', async () => {
    expect((await put()).status).toBe(200);
    expect((await register()).status).toBe(200);
    expect([await numbers(), await deliveries.completions(id)]).toEqual([[1, 2], 1]);
  });

  it('accepts the registration result of an exam before its account result', async () => {
    expect((await register()).status).toBe(200);
    expect((await put()).status).toBe(200);
    expect([await numbers(), await deliveries.completions(id)]).toEqual([[1, 2], 1]);
  });

  it('accepts the account result and the registration result of one exam at the same moment', async () => {
    const answers = await Promise.all([put(), register(), put(), register()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect([await numbers(), await deliveries.completions(id)]).toEqual([[1, 2], 1]);
  });
});

describe('simultaneous results for one exam', () => {
  it('20 identical simultaneous results create one revision and one event', async () => {
    const body = registrationBody({ examMetaData: { examCode: id, extRecordLocator: app.given.unique('L-') } });
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliveries.register(scene.token, body)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect([await numbers(), await deliveries.completions(id)]).toEqual([[1], 1]);
  });

  it('20 different simultaneous results create 20 revisions and one event', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => register({ n })));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect([await numbers(), await deliveries.completions(id)]).toEqual([
      Array.from({ length: 20 }, (_, i) => i + 1),
      1,
    ]);
  });

  it('20 different simultaneous results with large photos create 20 revisions and one event', async () => {
    const photo = (n: number) => Buffer.alloc(400_000, n).toString('base64');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => register({ userPhotoBase64String: photo(n) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect([(await numbers()).length, await deliveries.completions(id)]).toEqual([20, 1]);
  });

  it('stores a result that arrives while its booking is being cancelled, whichever takes effect first', async () => {
    for (let round = 0; round < 10; round++) {
      eligibility = await app.given.eligibility(scene);
      id = eligibility['svc_eligiblity_id'] as string;
      const { booking_code } = await app.given.booking(scene, eligibility);
      const [result, cancelled] = await Promise.all([
        register({ examMetaData: { examCode: round % 2 === 0 ? booking_code : id } }),
        app.call('DELETE', `/accounts/${scene.account}/bookings/${booking_code}`, { token: scene.token }),
      ]);
      const bookings = await deliveries.bookings(id);
      if (result.status === 400) {
        // If the cancellation takes effect first, no exam has the booking code of the result any more.
        expect([round % 2, cancelled.status, result.body.code]).toEqual([0, 204, 'registration_not_found']);
        expect(result.body.unmatched_result_id).toEqual(expect.any(String));
        expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['ELIGIBLE', 0]);
        continue;
      }
      expect(result.status).toBe(200);
      expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
      if (cancelled.status === 204)
        expect(bookings.map(({ status }) => status as string)).toEqual(['CANCELLED', 'COMPLETED']);
      else {
        expect(cancelled.body.code).toBe('booking_closed');
        expect(bookings.map(({ status }) => status as string)).toEqual(['COMPLETED']);
      }
    }
  });

  it('stores a result that arrives while the exam is being booked', async () => {
    for (let round = 0; round < 5; round++) {
      eligibility = await app.given.eligibility(scene);
      id = eligibility['svc_eligiblity_id'] as string;
      const [result] = await Promise.all([register(), app.given.booking(scene, eligibility).catch(() => undefined)]);
      expect(result.status).toBe(200);
      expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
      expect(await deliveries.bookings(id)).toHaveLength(1);
    }
  });
});

describe('reading results', () => {
  const path = () => `/accounts/${scene.account}/candidates/${candidate}/tests/${scene.testCode}/results`;
  const photo = { userPhotoBase64String: 'QUJD', videoReviewLink: 'https://v.example/1' };

  it('returns the revisions of a result as an array, newest first, each with source, revision, received_datetime and body', async () => {
    await register({ n: 1 });
    await put({ n: 2 });
    const { status, body } = await deliveries.read(scene, candidate);
    expect(status).toBe(200);
    expect(body).toEqual([
      {
        source: 'ACCOUNT',
        revision: 2,
        received_datetime: expect.any(String),
        faults: [],
        state: 'RELEASED',
        state_reason: null,
        body: accountBody(candidate, { n: 2 }),
      },
      {
        source: 'REGISTRATION',
        revision: 1,
        received_datetime: expect.any(String),
        faults: [],
        state: 'RELEASED',
        state_reason: null,
        body: registrationBody({ examMetaData: { examCode: id }, n: 1 }),
      },
    ]);
  });

  it('GET of results returns the results of all exams that a candidate had for a test', async () => {
    await register({ n: 1 });
    const second = await app.given.eligibility(scene, { candidate: { candidate_id: candidate } });
    await register({ examMetaData: { examCode: second['svc_eligiblity_id'] }, n: 2 });
    await register({ n: 3 });
    const { body } = await deliveries.read(scene, candidate);
    expect(body.map((revision: any) => [revision.revision, revision.body.n])).toEqual([
      [2, 3],
      [1, 2],
      [1, 1],
    ]);
  });

  it('the body of a result contains the photo and video link only for callers with the results scope', async () => {
    await register(photo);
    const whole = await deliveries.read(scene, candidate);
    expect(whole.body[0].body).toEqual(registrationBody({ examMetaData: { examCode: id }, ...photo }));
    const reader = await app.given.token([scene.account], ['read']);
    const rest = await deliveries.read(scene, candidate, reader);
    expect(rest.body[0].body).toEqual(registrationBody({ examMetaData: { examCode: id } }));
  });

  it('returns the body of a result exactly as it was sent: numbers, escapes and repeated names', async () => {
    const json = `{"examMetaData":{"examCode":"${id}"},"big":12345678901234567890,"one":1.0,"twice":1,"twice":2,"text":"\\u00e4\\/"}`;
    expect((await deliveries.register(scene.token, json)).status).toBe(200);
    expect((await deliveries.read(scene, candidate)).text).toContain(`"body":${json}}`);
  });

  it('GET of results returns an empty list for an exam that has no results yet', async () => {
    expect(await deliveries.read(scene, candidate)).toMatchObject({ status: 200, body: [] });
  });

  it('GET of results returns 404 for an unknown candidate or test', async () => {
    expect((await deliveries.read(scene, 'NOBODY')).body.code).toBe('candidate_not_found');
    const other = { ...scene, testCode: await app.given.test(scene.account) };
    expect((await deliveries.read(other, candidate)).body.code).toBe('eligibility_not_found');
  });

  it('reading results requires the read scope for the account', async () => {
    expect((await app.call('GET', path())).status).toBe(401);
    const token = await app.given.token([scene.account], ['results']);
    expect((await app.call('GET', path(), { token })).body.code).toBe('insufficient_scope');
    const stranger = (await app.given.scene()).token;
    expect((await app.call('GET', path(), { token: stranger })).body.code).toBe('account_forbidden');
  });
});

describe('photos and video links', () => {
  it('stores the photos and video links of results encrypted and separately from the body', async () => {
    await register({ userPhotoBase64String: 'SECRETPHOTO+', videoReviewLink: 'https://v.example/secret' });
    const [row] = await deliveries.revisions(id);
    expect(row['body']).not.toMatch(/userPhotoBase64String|videoReviewLink|SECRETPHOTO|secret/);
    for (const column of ['photo', 'video_link']) {
      expect(row[column]).toBeInstanceOf(Buffer);
      expect((row[column] as Buffer).toString('latin1')).not.toMatch(/SECRETPHOTO|secret/);
    }
  });

  it('cannot decrypt a photo or link that was moved to another revision', async () => {
    await register({ n: 1, userPhotoBase64String: 'QUJD' });
    await register({ n: 2 });
    await app.given.sql(
      `UPDATE result_revisions SET photo = (SELECT photo FROM result_revisions WHERE svc_eligiblity_id = $1 AND revision = 1)
       WHERE svc_eligiblity_id = $1 AND revision = 2`,
      [id],
    );
    await expect(deliveries.read(scene, candidate)).rejects.toThrow();
  });

  it('accepts and returns results with photos of 5 MiB', async () => {
    const userPhotoBase64String = Buffer.alloc(5 * 1024 * 1024, 7).toString('base64');
    expect((await register({ userPhotoBase64String })).status).toBe(200);
    const { body } = await deliveries.read(scene, candidate);
    expect(body[0].body.userPhotoBase64String === userPhotoBase64String).toBe(true);
  });

  it('stores a photo of more than 5 MiB, and reports it in the faults of the revision', async () => {
    const userPhotoBase64String = Buffer.alloc(5 * 1024 * 1024 + 1, 7).toString('base64');
    const answer = await register({ userPhotoBase64String });
    expect(answer.status).toBe(200);
    const { body } = await deliveries.read(scene, candidate);
    expect(body[0].faults).toEqual([{ pointer: '/userPhotoBase64String', code: 'too_long' }]);
    expect(body[0].body.userPhotoBase64String === userPhotoBase64String).toBe(true);
  });

  it('accepts a result with an empty photo or link', async () => {
    expect((await register({ userPhotoBase64String: '', videoReviewLink: '' })).status).toBe(200);
    const { body } = await deliveries.read(scene, candidate);
    expect(body[0].body).toMatchObject({ userPhotoBase64String: '', videoReviewLink: '' });
  });
});

describe('unusual bodies that real drivers send', () => {
  const REAL = {
    examDate: 'Jul 15 2015  1:13AM',
    examTakerEmail: '5f0c2f0e-0d0b-4f6f-8a43-3d1b0d3c2f11',
    examTakerFirstName: '',
    keySetVersion: '',
    examProcessingStatus: 'Complete',
    webCamComments: [{ comments: 'talks\r\nto somebody', duration: 4, eventStart: 0, eventFinish: 4, frame: 'x.png' }],
    examApiData: {
      reviewedExam: 'True',
      duration: 60,
      orgExtra: { examEndDate: '7/15/2015 2:13:00 AM', noOfStudents: 1, room: { seat: 4 } },
      extra: null,
    },
    vendor: { deep: [[{ ok: true }]], '': 'an empty name', 'line\nbreak': 'bell \u0007' },
  };

  it('accepts and stores unusual bodies: booleans as words, dates as free text, a UUID as e-mail, extra members at every level', async () => {
    const body = { ...REAL, examMetaData: { examCode: id, simulatedExam: 'False', reviewedExam: 'fALSE', more: 1 } };
    expect((await deliveries.register(scene.token, body)).status).toBe(200);
    expect((await deliveries.read(scene, candidate)).body[0].body).toEqual(body);
    expect(await deliveries.status(id)).toBe('COMPLETED');
  });

  it('returns 400 with pointers to all faults of a result that cannot be stored as sent, and assigns it to no exam', async () => {
    const before = await snapshot();
    const answer = await register({
      examDate: 20150715,
      desktopComments: [{ duration: '12' }, { comments: 5 }],
      examApiData: { reviewedExam: 'maybe', orgExtra: { noOfStudents: 1.5 } },
      vendor: 'NUL \0',
    });
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('validation_error');
    expect(answer.body.errors.map(({ pointer, code }: any) => `${pointer} ${code}`).sort()).toEqual([
      '/examApiData/orgExtra/noOfStudents type_invalid',
      '/examApiData/reviewedExam type_invalid',
      '/vendor control_character',
    ]);
    expect(await snapshot()).toEqual({ ...before, unmatched: before.unmatched + 1 });
  });

  it.each([['[]'], ['"text"'], ['7'], ['null']])(
    'returns 400 for a result that is not a JSON object: %s',
    async (json) => {
      for (const answer of [await deliveries.register(scene.token, json), await deliveries.put(scene, json)])
        expect(answer.body).toMatchObject({ status: 400, code: 'validation_error', errors: [{ pointer: '' }] });
    },
  );

  it('refuses a result that is not JSON, not UTF-8 or not declared as JSON', async () => {
    const half = (await deliveries.register(scene.token, '{"a":')).body;
    expect([half.code, half.detail]).toEqual(['malformed_json', expect.not.stringContaining('same member')]);
    expect((await deliveries.put(scene, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).body.code).toBe(
      'malformed_json',
    );
    const answer = await app.call('PUT', `/accounts/${scene.account}`, {
      token: scene.token,
      body: '{}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.status).toBe(415);
    expect((await app.call('PUT', `/accounts/${scene.account}`, { token: scene.token })).status).toBe(400);
  });

  it('returns 413 for a result with 100,000 comments', async () => {
    const comment = {
      comments: 'The candidate looked away.',
      duration: 1,
      eventStart: 1,
      eventFinish: 2,
      eventStatus: 'Rule',
    };
    const large = await register({ webCamComments: Array(100_000).fill(comment) });
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
    const small = await register({ webCamComments: Array(100_000).fill({}) });
    expect([small.status, small.body.code]).toEqual([413, 'payload_too_large']);
    expect(await deliveries.revisions(id)).toEqual([]);
  });

  it('accepts a result with 19,000 comments that have 95,000 values in total', async () => {
    const comment = { comments: 'The candidate looked away.', duration: 1, eventStart: 1, eventFinish: 2 };
    expect((await register({ webCamComments: Array(19_000).fill(comment) })).status).toBe(200);
  });
});

it('writes no part of a result to the log', async () => {
  const lines: string[] = [];
  const loud = await startApp({ databaseUrl: app.databaseUrl });
  const { pino: logger } = loud.app.get<Logger, { pino: Pino }>(Logger);
  logger.level = 'trace';
  Object.assign(logger, { [pino.symbols.streamSym]: { write: (line: string) => lines.push(line) } });
  try {
    const told = new Deliveries(loud);
    const body = registrationBody({
      examTakerLastName: 'Unmistakable',
      videoReviewLink: 'https://v.example/unmistakable',
    });
    const codes = [
      await told.register(scene.token, { ...body, examMetaData: { examCode: id } }),
      await told.register(scene.token, body),
      await told.register(scene.token, { ...body, examDate: 7 }),
      await told.register(scene.token, '{"examTakerLastName":"Unmistakable'),
    ].map(({ status }) => status);
    expect(codes).toEqual([200, 400, 400, 400]);
  } finally {
    await loud.app.close();
  }
  expect(lines.filter((line) => line.includes('/registrations/registration/results","status":'))).toHaveLength(4);
  expect(lines.join('')).not.toMatch(/unmistakable/i);
});
