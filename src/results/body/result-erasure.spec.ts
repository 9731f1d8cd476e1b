import { erasedBody } from './result-erasure.js';

const erased = (source: 'ACCOUNT' | 'REGISTRATION', body: object): unknown =>
  JSON.parse(erasedBody(source, JSON.stringify(body), 'ERASED-X'));

test('the erasure of an account result keeps the scores, and replaces the candidate_id with the pseudonym', () => {
  expect(
    erased('ACCOUNT', {
      candidate_id: 'C-1',
      result_id: 'R-1',
      result: 'PASS',
      overall_score_scaled: 200,
      category_scores: [{ category_name: 'Law', category_score_pct: '80', remark: 'Ada did well' }],
      nickname: 'Ada',
      overall_score_label: { name: 'Ada' },
    }),
  ).toEqual({
    candidate_id: 'ERASED-X',
    result: 'PASS',
    overall_score_scaled: 200,
    category_scores: [{ category_name: 'Law', category_score_pct: '80' }],
    overall_score_label: null,
  });
});

test('the erasure of a registration result removes free text and contact data', () => {
  expect(
    erased('REGISTRATION', {
      examTakerEmail: 'ada@example.org',
      examTakerFirstName: 'Ada',
      overAllComments: 'Ada looked away',
      desktopComments: [{ comments: 'Ada', duration: 3 }],
      examDate: '2027-01-01',
      examApiData: {
        duration: 90,
        examPassword: 'x',
        reviewerNotes: 'Ada',
        orgExtra: { noOfStudents: 1, teacher: 'B' },
      },
      examMetaData: { examCode: 'EL-1', extRecordLocator: 'L', simulatedExam: false },
    }),
  ).toEqual({
    examDate: '2027-01-01',
    examApiData: { duration: 90, orgExtra: { noOfStudents: 1 } },
    examMetaData: { simulatedExam: false },
  });
});
