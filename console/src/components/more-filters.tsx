import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { Button } from './button';

/**
 * Shows a button that opens a panel with further filters. The panel covers the list, so that no content moves. The
 * panel closes on Escape, on Enter in a text field, and when the user clicks or moves the focus outside the panel.
 */
export function MoreFilters({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = ({ target }: Event) => {
      if (!frame.current?.contains(target as Node)) setOpen(false);
    };
    // A field loses the focus before the events `click` and `focusin` occur. The field therefore applies typed text
    // before the panel closes.
    document.addEventListener('click', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('click', leave);
      document.removeEventListener('focusin', leave);
    };
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div
      ref={frame}
      className="more-filters"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.preventDefault();
        close();
      }}
    >
      <Button ref={button} aria-expanded={isOpen} aria-controls={id} onPress={() => setOpen(!isOpen)}>
        Filter
      </Button>
      <div
        id={id}
        className="more-filters-panel"
        role="group"
        aria-label="More filters"
        hidden={!isOpen}
        onSubmit={close}
      >
        {children}
      </div>
    </div>
  );
}
