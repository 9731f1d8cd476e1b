import { Link, Navigate, useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useRef, useState, type MouseEvent, type ReactNode, type RefObject } from 'react';
import type { Search } from '../router-search';
import { isTyping, useKeys } from './keys';
import { Button } from './button';
import type { Items } from './items';
import { useLater } from './later';
import { CloseItem } from './page';
import { Loading } from './states';

interface Props<Row> {
  items: Items<Row>;
  /** The id of the open item. */
  opened: string | undefined;
  /** The list beside which the item opens. */
  children: ReactNode;
}

/**
 * Opens items of a list beside the list, so that the user can look at one item after another.
 *
 * 1. In a wide window, a click on a row opens its item. A click on another row replaces the open item. As with every
 *    link, a click with Ctrl or Command opens the item's page in a new tab.
 * 2. Escape, the "Close" button and the browser's back button close the item. The focus then returns to its row.
 * 3. In a narrow window, a click on a row opens the page of its item. An address that contains an open item also opens
 *    this page.
 */
export function Beside<Row>({ items, opened, children }: Props<Row>) {
  const router = useRouter();
  const navigate = useNavigate();
  const list = useRef<HTMLDivElement>(null);
  const clicked = useRef<HTMLElement>(null);
  const isClosing = useRef(false);
  // If the window becomes narrow while an item is open, the item stays on the page of the list.
  const [isForPage] = useState(opened !== undefined && !WIDE.matches);
  useEffect(() => {
    isClosing.current = false;
  }, [opened]);
  useFocusReturned({ list, clicked, opened });

  function open(event: MouseEvent) {
    const row = WIDE.matches ? clickedRow(event) : null;
    const id = row?.dataset['item'];
    if (row === null || id === undefined) return;
    clicked.current = row;
    event.preventDefault();
    // The second click of a double click on the "Close" button is ignored, because it may hit a row that is now there.
    if (id === opened || event.detail > 1) return;
    const { state } = router.latestLocation;
    void navigate({
      to: '.',
      search: (before: Search) => ({ ...before, open: id }),
      state: { listEntry: opened === undefined ? state.__TSR_key : state.listEntry },
      replace: opened !== undefined,
      resetScroll: false,
    });
  }

  function close() {
    if (isClosing.current) return;
    isClosing.current = true;
    // If the item was opened from the list, the previous entry of the browser's history shows the list without an item.
    if (router.latestLocation.state.listEntry !== undefined) router.history.back();
    else
      void navigate({
        to: '.',
        search: (before: Search) => ({ ...before, open: undefined }),
        replace: true,
        resetScroll: false,
      });
  }

  return (
    <div className="beside">
      <div ref={list} className="beside-list" onClickCapture={open}>
        {children}
      </div>
      {opened !== undefined &&
        (isForPage ? (
          <Navigate {...items.pageOf(opened)} replace />
        ) : (
          <OpenItem items={items} id={opened} close={close} />
        ))}
    </div>
  );
}

interface OpenItemProps<Row> {
  items: Items<Row>;
  id: string;
  close: () => void;
}

function OpenItem<Row>({ items, id, close }: OpenItemProps<Row>) {
  const { Part: Item, open: load } = useLater(items.load);
  useEffect(load, [load]);
  useKeys({
    escape: (event) => {
      if (isTyping(event) || (event.target as Element).closest('.overlay') !== null) return false;
      close();
      return true;
    },
  });
  return (
    <aside key={id} className="beside-item" aria-label="Item details">
      <div className="beside-bar">
        <Link {...items.pageOf(id)}>Open page</Link>
        <Button small onPress={close}>
          Close
        </Button>
      </div>
      <CloseItem value={close}>{Item === null ? <Loading /> : <Item id={id} />}</CloseItem>
    </aside>
  );
}

/** Whether the window is wide enough to show an item beside its list. */
const WIDE = matchMedia('(min-width: 1100px)');

/**
 * Returns the row that was clicked. Returns null if the user clicked another link, a button or a field in the row, or
 * selected text. Also returns null if the browser opens the link in another tab or window.
 */
function clickedRow({ target, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): HTMLElement | null {
  if (ctrlKey || metaKey || shiftKey || altKey) return null;
  const control = (target as Element).closest('a, button, input, .select');
  const isForRow = control === null ? getSelection()?.isCollapsed !== false : control.matches('.main > a');
  return isForRow ? (target as Element).closest<HTMLElement>('tr[data-item]') : null;
}

interface FocusReturned {
  list: RefObject<HTMLDivElement | null>;
  /** The row that opened the item. Several rows can have the same item, for example two records of one candidate. */
  clicked: RefObject<HTMLElement | null>;
  opened: string | undefined;
}

/** Focuses the row of an item when the item is closed. If the list no longer contains the row, focuses the list. */
function useFocusReturned({ list, clicked, opened }: FocusReturned): void {
  const before = useRef(opened);
  useLayoutEffect(() => {
    if (opened === undefined && before.current !== undefined) {
      const rowOf = `tr[data-item="${CSS.escape(before.current)}"]`;
      const row = clicked.current?.isConnected && clicked.current.matches(rowOf) ? clicked.current : null;
      const shown = row ?? list.current?.querySelector(rowOf);
      const focused = shown?.querySelector('.main > a') ?? list.current?.querySelector('.list-frame');
      (focused as HTMLElement | null | undefined)?.focus({ preventScroll: true });
    }
    before.current = opened;
  }, [list, clicked, opened]);
}
