import type { ColumnVisibilityState } from '@tanstack/react-table';
import { useRef } from 'react';
import { Button } from './button';
import type { ColumnChoices } from './columns-menu';
import { later, useLater } from './later';

const columnsMenu = later(async () => (await import('./columns-menu')).ColumnsMenu);

/** Lets the user choose the visible columns of a list. */
export function ColumnChoice({ columns }: ColumnChoices) {
  const button = useRef<HTMLButtonElement>(null);
  const { Part: Menu, open, close } = useLater(columnsMenu);
  return (
    <>
      <Button ref={button} small aria-haspopup="menu" aria-expanded={Menu !== null} onPress={open}>
        Columns
      </Button>
      {Menu && <Menu columns={columns} button={button} onClose={close} />}
    </>
  );
}

/** Returns the choice of columns that this browser has stored for the list. */
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
