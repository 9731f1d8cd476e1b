import type { ColumnVisibilityState } from '@tanstack/react-table';
import { Button as AriaButton } from 'react-aria-components/Button';
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';

interface Choice {
  id: string;
  label: string;
  shown: boolean;
  show: (value: boolean) => void;
}

/** Which columns of a list are shown. */
export function ColumnChoice({ columns }: { columns: readonly Choice[] }) {
  return (
    <MenuTrigger>
      <AriaButton className="button quiet small">Columns</AriaButton>
      <Popover className="popover" placement="bottom end">
        <Menu
          className="menu"
          aria-label="Columns"
          selectionMode="multiple"
          disallowEmptySelection
          selectedKeys={columns.filter(({ shown }) => shown).map(({ id }) => id)}
          onSelectionChange={(selected) => {
            for (const { id, shown, show } of columns) {
              const wanted = selected === 'all' || selected.has(id);
              if (wanted !== shown) show(wanted);
            }
          }}
        >
          {columns.map(({ id, label }) => (
            <MenuItem key={id} id={id} textValue={label} className="menu-item">
              <span className="box" aria-hidden="true" />
              {label}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

/** What was chosen in this browser before. */
export function keptChoice(name: string, columns: readonly { id: string; hidden?: boolean }[]): ColumnVisibilityState {
  const usual = Object.fromEntries(columns.map(({ id, hidden }) => [id, !hidden]));
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(`columns:${name}`) ?? '{}') as ColumnVisibilityState) };
  } catch {
    return usual;
  }
}

export function keepChoice(name: string, choice: ColumnVisibilityState): void {
  localStorage.setItem(`columns:${name}`, JSON.stringify(choice));
}
