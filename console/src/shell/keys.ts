import { useEffect, useRef } from 'react';

/**
 * Handlers by key, with the prefix `mod+` for Ctrl or Command; a handler that returns false leaves the key to the
 * browser.
 */
type Keys = Record<string, (event: KeyboardEvent) => boolean | void>;

export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.altKey || event.defaultPrevented) return;
      const name = `${event.ctrlKey || event.metaKey ? 'mod+' : ''}${event.key.toLowerCase()}`;
      const action = latest.current[name];
      if (action && action(event) !== false) event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

export function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}
