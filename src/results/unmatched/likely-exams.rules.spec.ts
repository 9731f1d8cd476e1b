import {
  mostLikely,
  oneCharacterFrom,
  plainId,
  withoutWeakerIds,
  type LikelyExam,
  type Likeness,
} from './likely-exams.rules';

const RECEIVED = new Date('2031-05-01T12:00:00Z');
const exam = (name: string, because: Likeness[], bookingOn: string | null = null): LikelyExam & { name: string } => ({
  name,
  because: new Set(because),
  bookingOn: bookingOn === null ? null : new Date(bookingOn),
});
const order = (exams: (LikelyExam & { name: string })[], most = 10) =>
  mostLikely(exams, RECEIVED, most).map(({ name }) => name);

test('ranks an exam with one strong match above exams with any number of weaker matches', () => {
  const weaker = exam('weaker', ['NAME', 'TEST', 'LAST_NAME']);
  expect(order([weaker, exam('email', ['EMAIL'])])).toEqual(['email', 'weaker']);
  expect(order([exam('name', ['NAME', 'LAST_NAME']), weaker])).toEqual(['weaker', 'name']);
});

test('ranks the exam with the nearest booking first among exams with equal matches, and exams without a booking last', () => {
  const far = exam('far', ['EMAIL'], '2031-04-01T12:00:00Z');
  const near = exam('near', ['EMAIL'], '2031-05-02T12:00:00Z');
  expect(order([exam('none', ['EMAIL']), far, near])).toEqual(['near', 'far', 'none']);
  expect(order([far, near], 1)).toEqual(['near']);
});

test('converts an id to lower case, and removes white space and punctuation', () => {
  expect(['RN-100020', ' rn 100.020', 'Rn_100/020\t', 'r:n[1]0{0}0@2`0'].map(plainId)).toEqual(
    Array(4).fill('rn100020'),
  );
  expect(plainId('Ünï-1')).toBe('ünï1');
});

test('treats two ids as similar if one character is missing, added or replaced, or two characters are swapped', () => {
  const near = new Set(oneCharacterFrom('rn12'));
  for (const id of ['n12', 'r12', 'rn1', 'xrn12', 'rn912', 'rn123', 'sn12', 'rn13', 'nr12', 'rn21'])
    expect([id, near.has(id)]).toEqual([id, true]);
  for (const id of ['rn12', 'rn', 'rn1234', 'sm12', '12rn']) expect([id, near.has(id)]).toEqual([id, false]);
  expect(oneCharacterFrom('rn1')).toEqual([]);
  expect(oneCharacterFrom('r'.repeat(33))).toEqual([]);
});

test('suggests an exam with a similar id only when no exam has the exact id', () => {
  const of = (...likenesses: Likeness[]) => [...withoutWeakerIds(new Set(likenesses))];
  expect(of('CANDIDATE_ID', 'ID_SPELLING', 'ID_ONE_CHARACTER', 'EMAIL')).toEqual(['CANDIDATE_ID', 'EMAIL']);
  expect(of('ID_SPELLING', 'ID_ONE_CHARACTER')).toEqual(['ID_SPELLING']);
  expect(of('ID_ONE_CHARACTER', 'NAME')).toEqual(['ID_ONE_CHARACTER', 'NAME']);
});
