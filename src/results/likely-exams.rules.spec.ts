import { mostLikely, type LikelyExam, type Likeness } from './likely-exams.rules';

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
