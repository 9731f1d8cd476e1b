import type { ComponentType, ReactNode } from 'react';
import { Store, useStore } from '../api/store';
import { later, tellMissing } from './later';

interface Question {
  title: string;
  /** What will happen, and to how many. */
  text: ReactNode;
  /** The word on the button. */
  action: string;
  danger?: boolean;
  /** Whether the operator says why; kept with what is done. */
  reason?: 'required' | 'optional';
  /** To be typed before the button works, where there is no way back. */
  typed?: string;
  perform: (reason: string) => Promise<unknown>;
}

export interface Asked {
  question: Question;
  answer: (done: boolean) => void;
}

const dialog = later(async () => (await import('./confirm-dialog')).ConfirmDialog);
const asked = new Store<(Asked & { Dialog: ComponentType<Asked> }) | null>(null);

/** Asks before something is done, and does it: true when it was done. A refusal is shown in the dialog. */
export async function confirm(question: Question): Promise<boolean> {
  const Dialog = await dialog().catch(tellMissing);
  if (!Dialog) return false;
  return new Promise((resolve) =>
    asked.set({
      question,
      Dialog,
      answer: (done) => {
        asked.set(null);
        resolve(done);
      },
    }),
  );
}

export function Confirmation() {
  const current = useStore(asked);
  if (current === null) return null;
  const { Dialog, question, answer } = current;
  return <Dialog key={question.title} question={question} answer={answer} />;
}
