import { autoRetryCauses } from './subscription.rules';

test('the causes of automatic retries always include the statuses 500 and 429, and list each cause once', () => {
  expect(autoRetryCauses([])).toEqual(['500', '429']);
  expect(autoRetryCauses(['timeout', '503', '503'])).toEqual(['500', '429', '503', 'timeout']);
});
