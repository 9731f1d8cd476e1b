import { Fault, type Scene } from './scene.js';
import { SITUATIONS } from './situations.js';

export interface Verdict {
  title: string;
  /** Of docs/notifications.md. */
  sentence: string;
  /** The fault of the partner; null when it did the right thing. */
  fault: string | null;
}

/** Plays one situation after the other. */
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
