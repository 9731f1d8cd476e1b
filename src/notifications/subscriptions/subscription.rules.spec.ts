import { autoRetryCauses } from './subscription.rules';

test('a 500 is always among the causes, and each cause is listed once', () => {
  expect(autoRetryCauses([])).toEqual(['500']);
  expect(autoRetryCauses(['timeout', '503', '503'])).toEqual(['500', '503', 'timeout']);
});
