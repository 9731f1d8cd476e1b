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

test('a stronger likeness counts for more than all weaker ones together', () => {
  const weaker = exam('weaker', ['NAME', 'TEST', 'LAST_NAME']);
  expect(order([weaker, exam('email', ['EMAIL'])])).toEqual(['email', 'weaker']);
  expect(order([exam('name', ['NAME', 'LAST_NAME']), weaker])).toEqual(['weaker', 'name']);
});

test('of equals the one with the nearest booking comes first, and one without a booking last', () => {
  const far = exam('far', ['EMAIL'], '2031-04-01T12:00:00Z');
  const near = exam('near', ['EMAIL'], '2031-05-02T12:00:00Z');
  expect(order([exam('none', ['EMAIL']), far, near])).toEqual(['near', 'far', 'none']);
  expect(order([far, near], 1)).toEqual(['near']);
});

test('case, blanks and punctuation are no part of a plain id', () => {
  expect(['RN-100020', ' rn 100.020', 'Rn_100/020\t', 'r:n[1]0{0}0@2`0'].map(plainId)).toEqual(
    Array(4).fill('rn100020'),
  );
  expect(plainId('Ünï-1')).toBe('ünï1');
});

test('a plain id may be each id of one character less, more, other, or of two changed places', () => {
  const near = new Set(oneCharacterFrom('rn12'));
  for (const id of ['n12', 'r12', 'rn1', 'xrn12', 'rn912', 'rn123', 'sn12', 'rn13', 'nr12', 'rn21'])
    expect([id, near.has(id)]).toEqual([id, true]);
  for (const id of ['rn12', 'rn', 'rn1234', 'sm12', '12rn']) expect([id, near.has(id)]).toEqual([id, false]);
  expect(oneCharacterFrom('rn1')).toEqual([]);
  expect(oneCharacterFrom('r'.repeat(33))).toEqual([]);
});

test('another spelling counts only where the id is not found as it is', () => {
  const of = (...likenesses: Likeness[]) => [...withoutWeakerIds(new Set(likenesses))];
  expect(of('CANDIDATE_ID', 'ID_SPELLING', 'ID_ONE_CHARACTER', 'EMAIL')).toEqual(['CANDIDATE_ID', 'EMAIL']);
  expect(of('ID_SPELLING', 'ID_ONE_CHARACTER')).toEqual(['ID_SPELLING']);
  expect(of('ID_ONE_CHARACTER', 'NAME')).toEqual(['ID_ONE_CHARACTER', 'NAME']);
});
