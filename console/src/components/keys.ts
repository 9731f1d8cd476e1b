import { useEffect, useRef } from 'react';

/**
 * Functions that handle keys, by the name of the key. The prefix `mod+` means Ctrl or Command. If a function returns
 * false, the browser handles the key.
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
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type="checkbox"]), textarea, select'))
  );
}
