import { Button } from '../components/button';
import { Dialog } from '../components/dialog';

const KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ['Ctrl + K', 'Find a page, a candidate, a booking, a partner or an id'],
  ['/', 'Go to the first filter on the page'],
  ['?', 'Show this list'],
  ['Tab, Shift + Tab', 'Go to the next or previous control'],
  ['Enter', 'Open a link, press a button or apply a filter'],
  ['Space', 'Select a row or press a button'],
  ['↓, ↑', 'Choose an option in a drop-down list'],
  ['Escape', 'Close a dialog, a drop-down list or an item that is open beside a list'],
];

/** Lists the keyboard shortcuts of the console. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([keys, effect]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
      <div className="actions end">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
