import { useQuery } from '@tanstack/react-query';
import { useNavigate, type LinkProps } from '@tanstack/react-router';
import { useEffect, useId, useState, type KeyboardEvent } from 'react';
import { api, dataOf } from '../api/client';
import { areasFor, FINDERS } from '../areas';
import type { Session } from '../api/session';
import { nameOf } from '../candidates/record-text';
import { Dialog } from '../components/dialog';
import { usePartnerOptions } from '../partners/partner-filter';

interface Entry {
  /** The unique key of the entry in the palette; by default, its label. */
  id?: string;
  label: string;
  target: Pick<LinkProps, 'to' | 'search' | 'params'>;
}

export interface PaletteProps {
  session: Session;
  onClose: () => void;
}

/** Shows the command palette. With it, a user can open an area of the console or search, using only the keyboard. */
export function CommandPalette({ session, onClose }: PaletteProps) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const id = useId();
  const navigate = useNavigate();
  // Search results are listed last, so that a late result does not move the entry that the Enter key opens.
  const entries = [...entriesFor(session, text.trim()), ...useResults(text.trim())];
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
    <Dialog title="Search or go to a page" onClose={onClose}>
      <input
        className="palette-input"
        role="combobox"
        aria-label="Search for a page, a candidate, a booking or an id"
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
            key={entry.id ?? entry.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => go(entry)}
            onPointerMove={() => setActive(index)}
          >
            <bdi>{entry.label}</bdi>
          </li>
        ))}
      </ul>
      <p className="hint">Use the arrow keys to select, Enter to open, and Escape to close.</p>
    </Dialog>
  );
}

const FEWEST_CHARACTERS = 2;
const MOST_RESULTS = 5;
/**
 * The time, in milliseconds, for which the user must stop typing before the palette sends the search to the service.
 */
const PAUSE_MS = 200;

/** Returns the candidates and partners that match the typed text. */
function useResults(text: string): Entry[] {
  const [asked, setAsked] = useState('');
  useEffect(() => {
    const timer = window.setTimeout(() => setAsked(text), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text]);
  const isLong = asked.length >= FEWEST_CHARACTERS;
  const { data: candidates = [] } = useQuery({
    queryKey: ['palette', asked],
    enabled: isLong,
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/candidates', { params: { query: { q: asked, limit: MOST_RESULTS } }, signal })),
  });
  const partners = usePartnerOptions();
  if (!isLong) return [];
  const found = candidates.map(({ account_code: account, candidate, test_code: test, status, ...record }): Entry => ({
    id: record.svc_eligiblity_id,
    label: `${nameOf(candidate)} · ${candidate.candidate_id} · ${test} · ${status.toLowerCase()}`,
    target: { to: '/candidates/$account/$candidate', params: { account, candidate: candidate.candidate_id } },
  }));
  const named = partners
    .filter(([, name]) => name.toLowerCase().includes(asked.toLowerCase()))
    .slice(0, MOST_RESULTS)
    .map(([id, name]): Entry => ({ id, label: `Partner ${name}`, target: { to: '/partners/$id', params: { id } } }));
  return [...found, ...named];
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
