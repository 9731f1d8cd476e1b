import type { RefObject } from 'react';
import { Menu, MenuItem } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';

export interface ColumnChoices {
  columns: readonly { id: string; label: string; shown: boolean; show: (value: boolean) => void }[];
}

export interface ColumnsMenuProps extends ColumnChoices {
  button: RefObject<HTMLElement | null>;
  onClose: () => void;
}

export function ColumnsMenu({ columns, button, onClose }: ColumnsMenuProps) {
  return (
    <Popover
      className="popover"
      placement="bottom end"
      triggerRef={button}
      isOpen
      onOpenChange={(open) => !open && onClose()}
    >
      <Menu
        className="menu"
        aria-label="Columns"
        autoFocus="first"
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
  );
}
