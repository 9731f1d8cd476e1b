import type { Option } from './fields';
import type { Filter } from './filter';
import { local } from './time-text';

interface Props {
  filter: Filter;
  value: string;
  remove: () => void;
}

/** Shows a filter that is set, with its value in words. Pressing the chip removes the filter. */
export function FilterChip(props: Props) {
  const { useOptions, options = [] } = props.filter;
  if (useOptions) return <LoadedChip {...props} useOptions={useOptions} />;
  return <Chip {...props} text={textOf(props, options)} />;
}

function LoadedChip({ useOptions, ...props }: Props & { useOptions: () => readonly Option[] }) {
  return <Chip {...props} text={textOf(props, useOptions())} />;
}

function Chip({ filter: { label }, text, remove }: Props & { text: string }) {
  return (
    <button
      type="button"
      className="chip"
      aria-label={`Remove ${label}: ${text}`}
      title={text}
      onClick={({ currentTarget }) => {
        // The chip disappears, so the keyboard focus moves to the button with which the user can set the filter again.
        currentTarget.closest('.filters')?.querySelector<HTMLElement>('.more-filters > button')?.focus();
        remove();
      }}
    >
      <span>{label}:</span> <bdi>{text}</bdi>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M4.5 4.5l7 7M11.5 4.5l-7 7" />
      </svg>
    </button>
  );
}

/** Returns the value of a filter in words: the label of the chosen option, or a local time. */
function textOf({ filter: { type }, value }: Props, options: readonly Option[]): string {
  if (type === 'moment' && !Number.isNaN(Date.parse(value))) return local(new Date(value));
  return options.find(([option]) => option === value)?.[1] ?? value;
}
