import { useState, type FormEvent, type ReactNode } from 'react';
import { Button } from './button';
import { Dialog } from './dialog';
import { TextField } from './fields';
import { ProblemNote } from './states';

export interface Question {
  title: string;
  /** The name of a person or an object, which is shown in the title. */
  name?: string;
  /** The text of the question. It states the consequence of the action, and the number of affected items. */
  text: ReactNode;
  /** The label of the button that performs the action. */
  action: string;
  danger?: boolean;
  /**
   * Whether the operator must or may give a reason. The service stores the reason with the action. If this member is
   * omitted, the dialog does not ask for a reason.
   */
  reason?: 'required' | 'optional';
  /** The text that the operator must type to enable the button of an irreversible action. */
  typed?: string;
  perform: (reason: string) => Promise<unknown>;
}

export interface Asked {
  question: Question;
  answer: (done: boolean) => void;
}

export function ConfirmDialog({ question, answer }: Asked) {
  const { title, name, text, action, danger = false, reason, typed, perform } = question;
  const [why, setWhy] = useState('');
  const [typedText, setTypedText] = useState('');
  const [missing, setMissing] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  async function submit(event: FormEvent) {
    event.preventDefault();
    const isMissing = (reason === 'required' && why.trim() === '') || (typed !== undefined && typedText !== typed);
    setMissing(isMissing);
    if (isMissing || busy) return;
    setBusy(true);
    try {
      await perform(why.trim());
      answer(true);
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  }

  return (
    <Dialog title={title} name={name} role="alertdialog" onClose={() => answer(false)}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <div className="dialog-text">{text}</div>
        {reason && (
          <TextField
            label="Reason"
            hint={`The reason will be saved with the action.${reason === 'optional' ? ' The reason is optional.' : ''}`}
            value={why}
            onChange={setWhy}
            rows={2}
            maxLength={1000}
            required={reason === 'required'}
            autoFocus
            fault={missing && reason === 'required' && why.trim() === '' ? 'Required.' : undefined}
          />
        )}
        {typed !== undefined && (
          <TextField
            label={`Type ${typed} to continue`}
            value={typedText}
            onChange={setTypedText}
            required
            fault={missing && typedText !== typed ? 'Type the text exactly as shown.' : undefined}
          />
        )}
        {error !== null && <ProblemNote error={error} />}
        <div className="actions end">
          <Button onPress={() => answer(false)}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} isPending={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
