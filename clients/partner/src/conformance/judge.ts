import { Fault, type Scene } from './scene.js';
import { SITUATIONS } from './situations.js';

export interface Verdict {
  title: string;
  /** The sentence in docs/notifications.md that prescribes the partner's behaviour. */
  sentence: string;
  /** A description of the partner's fault; null when the partner behaved correctly. */
  fault: string | null;
}

/** Plays the situations against the partner one after another, and yields a verdict for each. */
export async function* judge(scene: Scene): AsyncGenerator<Verdict> {
  for (const situation of SITUATIONS) {
    const { title, sentence } = situation;
    let fault: string | null = null;
    try {
      await situation.play(scene);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      fault = error.message;
    }
    yield { title, sentence, fault };
  }
}
