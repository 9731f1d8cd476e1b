import { answerLate } from './late-answers.js';

describe('429 responses', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('delays 429 responses, to slow down clients that send requests in a loop', () => {
    let answered = 0;
    answerLate(() => answered++);
    jest.advanceTimersByTime(499);
    expect(answered).toBe(0);
    jest.advanceTimersByTime(1);
    expect(answered).toBe(1);
  });

  it('delays only a limited number of 429 responses at the same time, and sends further ones immediately', () => {
    let answered = 0;
    for (let at = 0; at < 300; at++) answerLate(() => answered++);
    expect(answered).toBe(300 - 256);
    jest.advanceTimersByTime(500);
    expect(answered).toBe(300);
    answerLate(() => answered++);
    expect(answered).toBe(300);
    jest.advanceTimersByTime(500);
  });
});
