import type { ComponentType } from 'react';
import { Store, useStore } from '../api/store';
import type { Asked, Question } from './confirm-dialog';
import { later, tellMissing } from './later';

const dialog = later(async () => (await import('./confirm-dialog')).ConfirmDialog);
const asked = new Store<(Asked & { Dialog: ComponentType<Asked> }) | null>(null);

/**
 * Asks the operator for confirmation, and then performs the action. Returns true if the action was performed. If the
 * service refuses the action, the dialog shows the error.
 */
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
