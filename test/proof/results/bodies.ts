import fc from 'fast-check';

type Source = 'REGISTRATION' | 'ACCOUNT';

/** A result that is sent: its body as text, its content type, and the route to which it is sent. */
export interface Sent {
  readonly source: Source;
  readonly marker: string;
  readonly text: string;
  readonly type: string;
}

/**
 * A result in the format of edX's proctoring back end. It has a string instead of a boolean (`reviewedExam`), and an
 * empty photo.
 */
const EDX = {
  examDate: 'Jul 15 2015  1:13AM',
  examProcessingStatus: 'Review Completed',
  examTakerEmail: 'sample.student@example.org',
  examTakerFirstName: 'Sample',
  examTakerLastName: 'Student',
  keySetVersion: '',
  examApiData: {
    ...{ duration: 1, examCode: '', examName: 'edX Exams', examPassword: 'hoRMsCuuYhZsPyGvYRzyBwcPzjPBi4ZN' },
    ...{ examSponsor: 'edx LMS', examUrl: 'http://localhost:8000/api/edx_proctoring/proctoring_launch_callback' },
    ...{
      orgExtra: { examEndDate: 'Wed, 15 Jul 2015 05:11:31 GMT', examStartDate: 'Wed, 15 Jul 2015', noOfStudents: 1 },
    },
    ...{ organization: 'edx', reviewedExam: 'True', reviewerNotes: 'Closed Book', extProduct: 'rp-now' },
  },
  examMetaData: {
    ...{ examName: 'edX Exams', examSponsor: 'edx LMS', organization: 'edx', reviewedExam: 'True' },
    ...{ reviewerNotes: 'Closed Book', simulatedExam: false, extExamToken: '4E44F7AA', extProduct: 'rp-now' },
  },
  overAllComments: ';Candidates should always wear suit and tie for exams.',
  reviewStatus: 'Suspicious',
  userPhotoBase64String: '',
  videoReviewLink: 'http://www.remoteproctor.com/AdminSite/Account/Reviewer/DirectLink-Generic.aspx?ID=foo',
  desktopComments: [
    { comments: 'Browsing other websites', duration: 88, eventFinish: 88, eventStart: 12, eventStatus: 'Suspicious' },
  ],
  webCamComments: [
    { comments: 'Photo ID not provided', duration: 796, eventFinish: 796, eventStart: 0, eventStatus: 'Suspicious' },
  ],
};
const ACCOUNT = {
  category_scores: [{ category_name: 'Pharmacology', category_order: '1', category_score_pct: '81.5' }],
  ...{ category_total_count: 1, overall_score_label: 'Pass', overall_score_pct: '81.5', overall_score_scaled: 640 },
  result: 'P',
};

const value = fc.oneof(
  fc.constantFrom<unknown>(
    'True',
    'false',
    '',
    '61',
    '61.0',
    61.5,
    1e17,
    null,
    true,
    '\0',
    'a\u0007b',
    {},
    [],
    [null],
    'QUJD',
  ),
  fc.constantFrom(
    'x'.repeat(600),
    'data:image/png;base64,QUJD',
    'QUJD\r\nQUJD',
    'no base64 %',
    'N/A',
    's3://bucket/key',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);
const names = [...Object.keys(EDX), ...Object.keys(ACCOUNT), 'result_id', 'unknown'];
const inner = [...Object.keys(EDX.examApiData), ...Object.keys(EDX.examMetaData), 'extRecordLocator'];

/** The random differences between a sent body and the formats of the specification and edX. */
export const mutation = fc.record({
  source: fc.constantFrom<Source>('REGISTRATION', 'ACCOUNT'),
  outer: fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 3 }),
  inner: fc.dictionary(fc.constantFrom(...inner), value, { maxKeys: 2 }),
  /** Whether the body names an existing exam, an unknown exam, or no exam. */
  leads: fc.constantFrom('EXAM', 'EXAM', 'EXAM', 'NOWHERE', 'NOTHING'),
  exam: fc.nat(),
  cut: fc.oneof(
    { weight: 19, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }) },
  ),
  type: fc.constantFrom(...Array<string>(20).fill('application/json'), 'text/plain'),
});
export type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

export function sentOf(
  { source, outer, inner: more, leads, exam, cut, type }: Mutation,
  marker: string,
  exams: readonly { code: string; candidate: string }[],
): Sent {
  const { code, candidate } = exams[exam % exams.length];
  const body: Record<string, unknown> = { marker, ...(source === 'ACCOUNT' ? ACCOUNT : EDX), ...outer };
  if (leads !== 'NOTHING') body['candidate_id'] = leads === 'EXAM' ? candidate : 'NOBODY';
  body['examMetaData'] = {
    ...EDX.examMetaData,
    ...more,
    ...(leads === 'NOTHING' ? {} : { examCode: leads === 'EXAM' ? code : leads }),
  };
  return { source, marker, type, text: wellFormed(JSON.stringify(body).slice(0, cut === null ? undefined : -cut)) };
}

/**
 * Returns the top-level members of a body that must be stored. A photo or video link that is null counts as omitted.
 */
export function keptMembers(body: Record<string, unknown>): [string, unknown][] {
  return Object.entries(body).filter(
    ([name, member]) => member !== null || !['userPhotoBase64String', 'videoReviewLink'].includes(name),
  );
}

/**
 * Returns whether the text that was read back contains each top-level member of the sent body unchanged, and nothing
 * else.
 */
export function isSame(sent: string, read: string): boolean {
  const members = (JSON.parse(sent) ?? {}) as Record<string, unknown>;
  const texts = keptMembers(members).map(([name, member]) => `${JSON.stringify(name)}:${JSON.stringify(member)}`);
  const body = read.slice(0, texts.join(',').length + 2);
  return body.endsWith('}') && texts.every((text) => body.includes(text));
}

/** Returns the text in the form in which it is sent: an unpaired surrogate becomes a replacement character in UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8');
}
