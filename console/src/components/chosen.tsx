import { useRef, useState, type ReactNode } from 'react';
import { Button } from './button';
import { confirm } from './confirm';
import { toast } from './toast';

interface Progress {
  done: number;
  refused: number;
  of: number;
}

/** An action on the rows that the user has selected. */
export interface ChosenAction {
  /** The verb of the action, such as "Resend". */
  verb: string;
  /** The past participle of the verb, such as "resent". */
  past: string;
  primary?: boolean;
  danger?: boolean;
  reason?: 'required' | 'optional';
  /** The consequence of the action, as text for the confirmation dialog. */
  text: ReactNode;
  /** The reason why the service may refuse the action on a row, worded as the end of a sentence. */
  refusal: string;
  perform: (id: string, reason: string) => Promise<unknown>;
}

interface Props {
  ids: readonly string[];
  /** The singular and the plural noun for the rows. */
  nouns: readonly [one: string, many: string];
  actions: readonly ChosenAction[];
  clear: () => void;
  /** Called when the requests for all selected rows have ended. */
  done: () => void;
}

const AT_ONCE = 4;

/**
 * Shows buttons for actions on the rows that the user has selected. A separate request is sent for each row, with a few
 * requests at the same time. The user can stop before all requests are sent.
 */
export function Chosen({ ids, nouns, actions, clear, done: finished }: Props) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const stopped = useRef(false);
  if (ids.length === 0 && progress === null) return null;

  async function perform(action: ChosenAction, reason: string): Promise<void> {
    const waiting = [...ids];
    const state = { done: 0, refused: 0, of: waiting.length };
    stopped.current = false;
    setProgress({ ...state });
    const work = async () => {
      for (let id = waiting.shift(); id !== undefined && !stopped.current; id = waiting.shift()) {
        await action.perform(id, reason).catch(() => state.refused++);
        state.done++;
        setProgress({ ...state });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    setProgress(null);
    clear();
    finished();
    const { done, refused, of } = state;
    const { past, refusal } = action;
    toast(
      `${(done - refused).toLocaleString('en')} of ${of.toLocaleString('en')} ${past}.${refused > 0 ? ` ${refused.toLocaleString('en')} could not be ${past}, because ${refusal}.` : ''}`,
      refused > 0 ? 'bad' : 'plain',
    );
  }

  function ask(action: ChosenAction) {
    let why = '';
    const { verb, text, reason, danger } = action;
    const count = ids.length.toLocaleString('en');
    void confirm({
      title: `${verb} ${ids.length === 1 ? `this ${nouns[0]}` : `these ${count} ${nouns[1]}`}?`,
      text,
      reason,
      danger,
      action: `${verb} ${count}`,
      perform: (given) => {
        why = given;
        return Promise.resolve();
      },
    }).then((agreed) => (agreed ? perform(action, why) : undefined));
  }

  return (
    <div className="chosen" role="group" aria-label="Selected rows">
      {progress ? (
        <>
          <span role="status">
            {progress.done.toLocaleString('en')} of {progress.of.toLocaleString('en')} …
          </span>
          <Button small onPress={() => (stopped.current = true)}>
            Stop
          </Button>
        </>
      ) : (
        <>
          <strong>{ids.length.toLocaleString('en')} selected</strong>
          {actions.map((action) => (
            <Button key={action.verb} small kind={action.primary ? 'primary' : 'plain'} onPress={() => ask(action)}>
              {action.verb} selected …
            </Button>
          ))}
          <Button small onPress={clear}>
            Clear selection
          </Button>
        </>
      )}
    </div>
  );
}
