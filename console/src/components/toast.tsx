import { Store, useStore } from '../api/store';

interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

const toasts = new Store<Toast[]>([]);
let lastId = 0;

/** Shows the operator a message for a while. Screen readers read it aloud. */
export function toast(text: string, tone: Toast['tone'] = 'plain'): void {
  const id = ++lastId;
  toasts.set([...toasts.get().slice(-2), { id, text, tone }]);
  setTimeout(() => toasts.set(toasts.get().filter((other) => other.id !== id)), tone === 'bad' ? 12_000 : 6000);
}

/**
 * Renders the live region for messages, even while there are no messages. A screen reader announces a message only if
 * the region was on the page before the message.
 */
export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div role="status" className="toasts">
      {shown.map(({ id, text, tone }) => (
        <p key={id} className={`toast ${tone}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
