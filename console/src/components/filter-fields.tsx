import { useEffect, useState } from 'react';
import { serviceNow } from '../api/clock';
import { Button } from './button';
import { Select, TextField, type Option } from './fields';
import type { Filter } from './filter';
import { Picker } from './picker';
import { toLocalText, toUtcText, zoneText } from './time-text';

interface FilterProps {
  filter: Filter;
  value: string;
  apply: (name: string, value: string) => void;
}

/**
 * Shows one filter as a field. A choice applies immediately; typed text applies on Enter or when the field loses the
 * focus.
 */
export function FilterField(props: FilterProps) {
  const { options, useOptions } = props.filter;
  if (useOptions) return <LoadedFilter {...props} useOptions={useOptions} />;
  return options ? <ChoiceFilter {...props} options={options} /> : <TextFilter {...props} />;
}

function ChoiceFilter({
  filter: { name, label },
  options,
  value,
  apply,
}: FilterProps & { options: readonly Option[] }) {
  const all: readonly Option[] = [['', 'Any'], ...options];
  const isKnown = all.some(([option]) => option === value);
  return (
    <Select
      label={label}
      value={value}
      options={isKnown ? all : [...all, [value, value]]}
      onChange={(chosen) => apply(name, chosen)}
    />
  );
}

function LoadedFilter({
  filter: { name, label, hasCodes, main },
  useOptions,
  value,
  apply,
}: FilterProps & { useOptions: () => readonly Option[] }) {
  return (
    <div data-search={main || undefined}>
      <Picker
        label={label}
        value={value}
        options={useOptions()}
        hasCodes={hasCodes}
        onChange={(chosen) => apply(name, chosen)}
      />
    </div>
  );
}

const DAY_MS = 86_400_000;
const PRESETS: readonly (readonly [label: string, days: number])[] = [
  ['24 h', 1],
  ['7 days', 7],
  ['30 days', 30],
];

/** Shows buttons that set the period to the last 24 hours, 7 days or 30 days. */
export function Presets({ choose }: { choose: (from: string) => void }) {
  return (
    <div className="presets" role="group" aria-label="Last">
      {PRESETS.map(([label, days]) => (
        <Button
          key={label}
          small
          aria-label={`Last ${label}`}
          onPress={() => choose(`${new Date(serviceNow() - days * DAY_MS).toISOString().slice(0, 16)}:00Z`)}
        >
          {label}
        </Button>
      ))}
    </div>
  );
}

function TextFilter({ filter: { name, label, type, main }, value, apply }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const isMoment = type === 'moment';
  const use = () => apply(name, typed.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        use();
      }}
      onBlur={use}
      data-search={main || undefined}
    >
      <TextField
        label={isMoment ? `${label} (${zoneText()})` : label}
        type={isMoment ? 'datetime-local' : 'text'}
        value={isMoment ? toLocalText(typed) : typed}
        onChange={(text) => setTyped(isMoment && text !== '' ? toUtcText(text) : text)}
        maxLength={200}
      />
    </form>
  );
}
