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

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PRESETS: readonly (readonly [label: string, days: number])[] = [
  ['24 h', 1],
  ['7 days', 7],
  ['30 days', 30],
];

interface PresetsProps {
  from: string | undefined;
  to: string | undefined;
  choose: (from: string | undefined) => void;
}

/**
 * Shows buttons that set the period to the last 24 hours, 7 days or 30 days. A chosen button is shown as pressed for an
 * hour. Pressing this button again clears the period.
 */
export function Presets({ from = '', to, choose }: PresetsProps) {
  return (
    <div className="presets" role="group" aria-label="Last">
      {PRESETS.map(([label, days]) => {
        const begin = serviceNow() - days * DAY_MS;
        const isChosen = to === undefined && Math.abs(Date.parse(from) - begin) < HOUR_MS;
        return (
          <Button
            key={label}
            small
            aria-label={`Last ${label}`}
            aria-pressed={isChosen}
            onPress={() => choose(isChosen ? undefined : `${new Date(begin).toISOString().slice(0, 16)}:00Z`)}
          >
            {label}
          </Button>
        );
      })}
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
