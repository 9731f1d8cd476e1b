import { answerLate } from './late-answers.js';

describe('refusals for too many requests', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('come late, so that a loop of requests goes round slowly', () => {
    let answered = 0;
    answerLate(() => answered++);
    jest.advanceTimersByTime(499);
    expect(answered).toBe(0);
    jest.advanceTimersByTime(1);
    expect(answered).toBe(1);
  });

  it('wait in no larger number than can be borne; there is room again once they are sent', () => {
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
