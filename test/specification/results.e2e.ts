import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody } from '../support/deliveries';
import sentences from './sentences.json';
import { testSentences } from './sentences';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let deliveries: Deliveries;
/**
 * The body of a registration result with every member of the specification: as the test sent it, and as the service
 * returned it.
 */
let registration: [sent: any, read: any];
let account: [sent: any, read: any];

const COMMENT = { comments: 'looked\naway', duration: 12, eventFinish: 112, eventStart: 100, eventStatus: 'Rule' };

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  deliveries = new Deliveries(app);
  registration = await delivered((record) => ({
    desktopComments: [COMMENT],
    webCamComments: [{ comments: 'left' }],
    examApiData: {
      ...{ duration: 60, examCode: 'OTHER', examName: 'RN', examPassword: 'secret', examSponsor: 'Board' },
      ...{ examUrl: 'https://driver.example/x', organization: 'Org', reviewedExam: true, reviewerNotes: 'none' },
      orgExtra: { examEndDate: 'May 2', examStartDate: 'May 1', noOfStudents: 1 },
      extProduct: 'P',
    },
    examDate: 'Jul 15 2015  1:13AM',
    examMetaData: {
      ...{ examCode: record['svc_eligiblity_id'], examName: 'RN', examSponsor: 'Board', organization: 'Org' },
      ...{ reviewedExam: 'True', reviewerNotes: 'none', simulatedExam: false, extExamToken: 'token' },
      ...{ extProduct: 'P', extRecordLocator: app.given.unique('L-') },
    },
    examProcessingStatus: 'Complete',
    examTakerEmail: 'ada@example.org',
    examTakerFirstName: 'Ada',
    examTakerLastName: 'Lovelace',
    keySetVersion: '7',
    overAllComments: 'fine',
    reviewStatus: 'Clean',
    userPhotoBase64String: 'QUJD',
    videoReviewLink: 'https://video.example/1',
  }));
  account = await delivered(
    (record) => accountBody(record['candidate'].candidate_id as string, { result_id: 'R-1' }),
    true,
  );
});
afterAll(() => app.close());

async function delivered(bodyOf: (record: Record<string, any>) => object, byAccount = false): Promise<[any, any]> {
  const record = await app.given.eligibility(scene);
  const body = bodyOf(record);
  const { status } = await (byAccount ? deliveries.put(scene, body) : deliveries.register(scene.token, body));
  expect(status).toBe(200);
  const [read] = (await deliveries.read(scene, record['candidate'].candidate_id as string)).body;
  return [body, read.body];
}

/**
 * Tests the rows of the specification that say "optional, kept as sent". The service must return the value of each of
 * these members unchanged.
 */
function rowsOf(
  section: number,
  at: Record<string, string>,
  bodies: () => [any, any],
): Record<string, () => Promise<void>> {
  const rows = sentences.filter(({ number }) => number.startsWith(`${section}.`));
  return Object.fromEntries(
    rows.map(({ number, requires }) => {
      const name = requires.slice(0, requires.indexOf(':'));
      const path = (at[name] ?? name).split('.');
      const valueIn = (body: any) => path.reduce((value, step) => value[step], body);
      return [
        number,
        () => {
          const [sent, read] = bodies().map(valueIn);
          expect(sent).toBeDefined();
          expect(read).toEqual(sent);
          return Promise.resolve();
        },
      ];
    }),
  );
}

describe('the Candidate Results Details', () => {
  const inComment = (name: string) => [`${name} of an event comment`, `desktopComments.0.${name}`];
  const at = Object.fromEntries(['comments', 'duration', 'eventFinish', 'eventStart', 'eventStatus'].map(inComment));
  testSentences(rowsOf(5, at, () => registration));
  it('accepts a registration result that contains only the members that identify the exam', async () => {
    await delivered((record) => ({ examMetaData: { examCode: record['svc_eligiblity_id'] } }));
  });
});

describe('the Candidate Result Data', () => {
  const inScore = (name: string) => [name, `category_scores.0.${name}`];
  const at = Object.fromEntries(['category_name', 'category_order', 'category_score_pct'].map(inScore));
  testSentences(rowsOf(6, at, () => account));
  it('accepts an account result that contains only the members that identify the exam', async () => {
    await delivered((record) => ({ candidate_id: record['candidate'].candidate_id }), true);
  });
});

describe('the result routes', () =>
  testSentences({
    '1.3': async () => {
      await delivered((record) => registrationBody({ examMetaData: { examCode: record['svc_eligiblity_id'] } }));
      await delivered((record) => accountBody(record['candidate'].candidate_id as string), true);
    },
    '9.6': async () => {
      const { svc_eligiblity_id: examCode } = await app.given.eligibility(scene);
      const answer = await deliveries.register(scene.token, registrationBody({ examMetaData: { examCode } }));
      expect([answer.status, answer.text]).toEqual([200, '']);
    },
    '9.7': async () => {
      const { candidate_id } = (await app.given.eligibility(scene))['candidate'];
      const answer = await deliveries.put(scene, accountBody(candidate_id as string));
      expect([answer.status, answer.text]).toEqual([200, '']);
    },
    '14.2': async () => {
      const { status, body } = await deliveries.register(
        scene.token,
        registrationBody({ examMetaData: { examCode: 'NOWHERE' } }),
      );
      expect([status, body.code]).toEqual([400, 'registration_not_found']);
    },
    '14.3': async () => {
      const { status, body } = await deliveries.put(scene, accountBody('NOBODY'));
      expect([status, body.code]).toEqual([400, 'candidate_exam_not_found']);
    },
    '14.7': async () => {
      const { candidate_id } = (await app.given.eligibility(scene))['candidate'];
      const body = accountBody(candidate_id as string, { result_id: 'R-AGAIN' });
      const release = await app.given.lock('LOCK TABLE result_revisions IN ACCESS EXCLUSIVE MODE');
      const answer = await deliveries.put(scene, body).finally(release);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, expect.stringMatching(/^\d+$/)]);
      expect((await deliveries.put(scene, body)).status).toBe(200);
      const { body: read } = await deliveries.read(scene, candidate_id as string);
      expect(read).toHaveLength(1);
    },
  }));
