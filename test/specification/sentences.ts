import sentences from './sentences.json';

const REQUIRED = new Map(sentences.map(({ number, requires }) => [number, requires]));

/** Tests sentences of the specification: the title of each test has the number and the words of its sentence. */
export function testSentences(tests: Record<string, () => Promise<void>>): void {
  for (const [number, test] of Object.entries(tests)) {
    const requires = REQUIRED.get(number);
    if (requires === undefined) throw new Error(`No sentence has the number ${number}.`);
    it(`${number} ${requires}`, test);
  }
}
