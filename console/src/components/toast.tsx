import { Store, useStore } from '../api/store';

interface Toast {
  id: number;
  text: string;
  tone: 'plain' | 'bad';
}

const toasts = new Store<Toast[]>([]);
let lastId = 0;

/** Notifies the operator: the text is shown for a while and read aloud by screen readers. */
export function toast(text: string, tone: Toast['tone'] = 'plain'): void {
  const id = ++lastId;
  toasts.set([...toasts.get().slice(-2), { id, text, tone }]);
  setTimeout(() => toasts.set(toasts.get().filter((other) => other.id !== id)), tone === 'bad' ? 12_000 : 6000);
}

/** Renders the live region even without messages: screen readers announce changes only in a known region. */
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
