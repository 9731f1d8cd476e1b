import { useId, useMemo, useState, type FocusEvent, type KeyboardEvent } from 'react';
import { Field, type Labelled, type Option } from './fields';

/** The maximum number of options that are offered at once. The user finds further options by typing. */
const MOST_OFFERED = 50;

interface Props extends Labelled {
  value: string;
  /** Called with the value of the chosen option, or with the typed text if no option has that name. */
  onChange: (value: string) => void;
  options: readonly Option[];
  /**
   * Whether the values are codes that users know. The picker then shows each code beside the name of the option, and
   * users can type a code to find its option.
   */
  hasCodes?: boolean;
  autoFocus?: boolean;
}

/**
 * Shows a field in which the user chooses one of many options. The user finds an option by typing any part of its name
 * or its code. The field follows the combobox pattern of WAI-ARIA.
 */
export function Picker({ value, onChange, options, hasCodes = false, autoFocus, ...labelled }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const [active, setActive] = useState(-1);
  const listId = useId();
  const name = useMemo(() => new Map(options).get(value), [options, value]);
  const found = useMemo(() => matching(options, typed ?? '', hasCodes), [options, typed, hasCodes]);
  const isOpen = typed !== null && found.length > 0;

  function choose(chosen: string) {
    setTyped(null);
    if (chosen !== value) onChange(chosen);
  }

  /**
   * Chooses the option with the typed name, or else the only option that matches the typed text. If no option matches
   * the text, chooses the text itself.
   * @param isSure whether to choose the first of several matching options; otherwise, the field keeps its value
   */
  function take(isSure: boolean) {
    if (typed === null) return;
    const text = typed.trim();
    const [first] = found;
    const same = options.find(([code, label]) => isCalled(text, code, label));
    if (text === '') choose('');
    else if (same !== undefined) choose(same[0]);
    else if (first === undefined) choose(text);
    else choose(isSure || found.length === 1 ? first[0] : value);
  }

  function pressed(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      setTyped(typed ?? '');
      if (isOpen) setActive((active + step + found.length) % found.length);
    } else if (event.key === 'Escape' && typed !== null) {
      setTyped(null);
      // Without this call, Escape would also close the dialog around the field.
      event.stopPropagation();
    } else if (event.key === 'Enter' && typed !== null) {
      if (isOpen && found[active]) choose(found[active][0]);
      else take(true);
    } else return;
    event.preventDefault();
  }

  return (
    <Field {...labelled}>
      {(described) => (
        <div
          className="picker"
          onBlur={({ relatedTarget, currentTarget }: FocusEvent) => {
            if (!currentTarget.contains(relatedTarget)) take(false);
          }}
        >
          <input
            {...described}
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-activedescendant={isOpen && found[active] ? `${listId}-${active}` : undefined}
            autoComplete="off"
            spellCheck={false}
            autoFocus={autoFocus}
            maxLength={200}
            value={typed ?? name ?? value}
            onFocus={(event) => event.currentTarget.select()}
            onClick={() => setTyped(typed ?? '')}
            onChange={(event) => {
              setTyped(event.target.value);
              setActive(-1);
            }}
            onKeyDown={pressed}
          />
          <ul id={listId} role="listbox" aria-label="Options" hidden={!isOpen}>
            {isOpen &&
              found.map(([code, label], index) => (
                <li
                  key={code}
                  id={`${listId}-${index}`}
                  role="option"
                  aria-selected={index === active}
                  // The field keeps the focus when an option is pressed. Otherwise, the field would first apply the
                  // typed text.
                  onPointerDown={(event) => event.preventDefault()}
                  onClick={() => choose(code)}
                >
                  <bdi>{label}</bdi>
                  {hasCodes && <small>{code}</small>}
                </li>
              ))}
          </ul>
        </div>
      )}
    </Field>
  );
}

function isCalled(text: string, code: string, label: string): boolean {
  return code === text || plain(label) === plain(text);
}

/** Returns the options that contain every typed word. */
function matching(options: readonly Option[], typed: string, hasCodes: boolean): readonly Option[] {
  const words = plain(typed).split(/\s+/);
  const found = options.filter(([code, label]) => {
    const text = plain(hasCodes ? `${label} ${code}` : label);
    return words.every((word) => text.includes(word));
  });
  return found.slice(0, MOST_OFFERED);
}

/** Returns the text in lower case and without accents. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();
}
