import { useNavigate, type LinkProps } from '@tanstack/react-router';
import { useId, useState, type KeyboardEvent } from 'react';
import { areasFor, FINDERS } from '../areas';
import type { Session } from '../api/session';
import { Dialog } from '../components/dialog';

interface Entry {
  label: string;
  target: Pick<LinkProps, 'to' | 'search' | 'params'>;
}

export interface PaletteProps {
  session: Session;
  onClose: () => void;
}

/** Shows the command palette, in which a user opens an area of the console or searches, by keyboard. */
export function CommandPalette({ session, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  const entries = entriesFor(session, text.trim());
  const current = Math.min(active, entries.length - 1);

  function go(entry: Entry | undefined) {
    if (entry === undefined) return;
    onClose();
    void navigate(entry.target as Parameters<typeof navigate>[0]);
  }

  function pressed(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') go(entries[current]);
    else if (step !== undefined) setActive((current + step + entries.length) % entries.length);
    else return;
    event.preventDefault();
  }

  return (
    <Dialog title="Find or go to" onClose={onClose}>
      <input
        className="palette-input"
        role="combobox"
        aria-label="A page, a candidate, a booking or an id"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries.length > 0 ? `${id}-${current}` : undefined}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setActive(0);
        }}
        onKeyDown={pressed}
      />
      <ul id={id} role="listbox" aria-label="Results" className="palette">
        {entries.map((entry, index) => (
          <li
            key={entry.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => go(entry)}
            onPointerMove={() => setActive(index)}
          >
            {entry.label}
          </li>
        ))}
      </ul>
      <p className="hint">Arrow keys select, Enter opens, Escape closes.</p>
    </Dialog>
  );
}

function entriesFor(session: Session, text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/);
  const areas = areasFor(session).filter(({ label, words: more = '' }) =>
    words.every((word) => `${label} ${more}`.toLowerCase().includes(word)),
  );
  if (text === '') return [...areas];
  const found = FINDERS.flatMap(({ label, target }) => {
    const to = target(text);
    return to === null ? [] : [{ label: label(text), target: to }];
  });
  return [...areas, ...found];
}
