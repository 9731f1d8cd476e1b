import { useCallback, useEffect, useLayoutEffect, useRef, useState, type MouseEvent, type RefObject } from 'react';
import { hasJustActed } from '../api/session';
import { Button } from './button';

interface Shown<Row> {
  /** The newest data, from which the shown rows were derived. */
  of: readonly Row[];
  list: string;
  rows: readonly Row[];
  /** The number of new rows that are not shown yet. */
  fresh: number;
  /** Keys of removed rows that are still shown as placeholders, so that no other row moves. */
  gone: ReadonlySet<string>;
}

export interface Steady<Row> {
  rows: readonly Row[];
  gone: ReadonlySet<string>;
  /** The element whose content would move if rows were added or removed. */
  frame: RefObject<HTMLDivElement | null>;
  /** The text about changes that are not shown yet, and the function that shows them; null if all changes are shown. */
  held: Held | null;
}

interface Held {
  text: string;
  show: (event: MouseEvent) => void;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Keeps the rows of a live list from moving while the user interacts with them.
 *
 * 1. While the pointer or the keyboard focus is on the rows or on the content below them, new rows are not shown and
 *    removed rows keep their place. Other changes to a row are shown immediately.
 * 2. All changes are shown when the pointer and the focus leave the list, when the operator presses the button that
 *    shows the changes, after an operator's action, and when the value of `list` changes.
 */
export function useSteady<Row>(rows: readonly Row[], keyOf: (row: Row) => string, list = ''): Steady<Row> {
  const frame = useRef<HTMLDivElement>(null);
  const latest = useRef({ rows, keyOf, list });
  const [shown, setShown] = useState<Shown<Row>>(() => allOf(rows, list));
  const show = useCallback(() => setShown(allOf(latest.current.rows, latest.current.list)), []);
  useLayoutEffect(() => {
    latest.current = { rows, keyOf, list };
  });
  useLayoutEffect(() => {
    setShown((before) => {
      if (before.of === rows && before.list === list) return before;
      const mayMove = before.list !== list || hasJustActed() || !isInUse(frame.current);
      return mayMove ? allOf(rows, list) : merged(before, rows, latest.current.keyOf);
    });
  }, [rows, list]);
  const { fresh, gone } = shown;
  const isHeld = fresh > 0 || gone.size > 0;
  useEffect(() => {
    if (!isHeld) return undefined;
    const look = (event: Event) => {
      // While the keyboard focus moves from one element of a list to another, no element has the focus for a moment.
      // This moment must not count as leaving the list.
      const isBetween = event.type === 'focusout' && (event as FocusEvent).relatedTarget !== null;
      if (!isBetween && !isInUse(frame.current)) show();
    };
    for (const kind of KINDS) document.addEventListener(kind, look);
    return () => {
      for (const kind of KINDS) document.removeEventListener(kind, look);
    };
  }, [isHeld, show]);
  const text = [fresh > 0 && `${fresh.toLocaleString('en')} new`, gone.size > 0 && `${gone.size} removed`];
  const held: Held = {
    text: text.filter(Boolean).join(', '),
    show: ({ detail: clicks }) => {
      show();
      // The button that shows the changes disappears when it is pressed, so the focus of a keyboard user moves to the
      // list.
      if (clicks === 0) frame.current?.focus({ preventScroll: true });
    },
  };
  return { rows: shown.rows, gone, frame, held: isHeld ? held : null };
}

const KINDS = ['pointerover', 'pointerout', 'focusin', 'focusout'] as const;

/**
 * Shows a button with the number of changes that are not shown yet. Pressing the button shows these changes. The button
 * replaces other text, so that no content moves.
 */
export function HeldNote({ held: { text, show } }: { held: Held }) {
  return (
    <Button small aria-label={`${text}: show`} onPress={show}>
      {text}
    </Button>
  );
}

function allOf<Row>(rows: readonly Row[], list: string): Shown<Row> {
  return { of: rows, list, rows, fresh: 0, gone: NONE };
}

/**
 * Merges new data into the shown rows. The shown rows keep their order, and new rows at the end of the list are
 * appended.
 */
function merged<Row>(before: Shown<Row>, now: readonly Row[], keyOf: (row: Row) => string): Shown<Row> {
  if (before.rows.length === 0) return allOf(now, before.list);
  const known = new Map(now.map((row) => [keyOf(row), row]));
  const standing = before.rows.map((row) => known.get(keyOf(row)) ?? row);
  const keys = new Set(before.rows.map(keyOf));
  const last = now.findLastIndex((row) => keys.has(keyOf(row)));
  const behind = last === -1 ? [] : now.slice(last + 1);
  const fresh = now.filter((_, index) => index <= last || last === -1).filter((row) => !keys.has(keyOf(row))).length;
  // A row that is missing at the end may still exist. New rows may have moved it to a page that was not fetched.
  const end = fresh === 0 ? standing.length : standing.findLastIndex((row) => known.has(keyOf(row)));
  const gone = new Set(
    standing.slice(0, Math.max(end, 0)).flatMap((row) => (known.has(keyOf(row)) ? [] : [keyOf(row)])),
  );
  return { of: now, list: before.list, rows: [...standing, ...behind], fresh, gone };
}

function isInUse(frame: Element | null): boolean {
  const main = frame?.closest('main');
  if (!frame || !main) return false;
  const pointed = [...document.querySelectorAll(':hover')].at(-1);
  return [pointed, document.querySelector(':focus-visible')].some(
    (element) =>
      element != null &&
      main.contains(element) &&
      // A change to the rows of a list does not move the content of an item that is open beside the list.
      element.closest('.beside-item') === frame.closest('.beside-item') &&
      (element === frame || (frame.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0),
  );
}
