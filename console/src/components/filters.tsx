import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Search } from '../router-search';
import { Button } from './button';
import type { Filter } from './filter';
import { FilterChip } from './filter-chip';
import { FilterField, Presets } from './filter-fields';
import { MoreFilters } from './more-filters';

export type { Filter };

/** The number of filters that are always visible. The "Filter" button opens a panel with the other filters. */
const MOST_OPEN = 4;

/**
 * Shows the filters of a page. Their values are part of the page's address. The first four filters are fields above the
 * list. The other filters are in a panel that a button opens. If one of these other filters is set, it is also shown as
 * a chip. Pressing the chip removes the filter.
 */
export function Filters({ of }: { of: readonly Filter[] }) {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = (values: Search) =>
    void navigate({ to: '.', search: (before: Search) => ({ ...before, ...values }), resetScroll: false });
  const apply = (name: string, value: string) => {
    if ((search[name] ?? '') !== value) set({ [name]: value || undefined });
  };
  const fields = (filters: readonly Filter[]) => (
    <>
      {filters.map((filter) => (
        <FilterField key={filter.name} filter={filter} value={search[filter.name] ?? ''} apply={apply} />
      ))}
      {filters.some(({ name, type }) => name === 'to' && type === 'moment') && (
        <Presets from={search['from']} to={search['to']} choose={(from) => set({ from, to: undefined })} />
      )}
    </>
  );
  const others = of.slice(MOST_OPEN);
  const chips = others.filter(({ name }) => search[name] !== undefined);
  const isUsed = of.some(({ name }) => search[name] !== undefined);
  return (
    <search className="filters" aria-label="Filters">
      {fields(of.slice(0, MOST_OPEN))}
      {others.length > 0 && <MoreFilters>{fields(others)}</MoreFilters>}
      {chips.map((filter) => (
        <FilterChip
          key={filter.name}
          filter={filter}
          value={search[filter.name]!}
          remove={() => apply(filter.name, '')}
        />
      ))}
      {isUsed && (
        <Button onPress={() => set(Object.fromEntries(of.map(({ name }) => [name, undefined])))}>Clear</Button>
      )}
    </search>
  );
}
