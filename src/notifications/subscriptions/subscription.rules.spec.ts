import { autoRetryCauses } from './subscription.rules';

test('the list of causes for automatic retries always includes the statuses 500 and 429, and has no duplicates', () => {
  expect(autoRetryCauses([])).toEqual(['500', '429']);
  expect(autoRetryCauses(['timeout', '503', '503'])).toEqual(['500', '429', '503', 'timeout']);
});
