import type { ColumnVisibilityState } from '@tanstack/react-table';
import { useRef, useState, type ComponentType } from 'react';
import { Button } from './button';
import type { ColumnChoices, ColumnsMenuProps } from './columns-menu';
import { toast } from './toast';

/** Not by `lazy`: React lets a third of a second pass before it shows what was awaited. */
const loadColumnsMenu = async () => (await import('./columns-menu')).ColumnsMenu;

/** Which columns of a list are shown. */
export function ColumnChoice({ columns }: ColumnChoices) {
  const button = useRef<HTMLButtonElement>(null);
  const [Menu, setMenu] = useState<ComponentType<ColumnsMenuProps> | null>(null);
  const open = () =>
    void loadColumnsMenu().then(
      (found) => setMenu(() => found),
      (error: Error) => toast(`It could not be loaded: ${error.message}`, 'bad'),
    );
  return (
    <>
      <Button ref={button} kind="quiet" small aria-haspopup="menu" aria-expanded={Menu !== null} onPress={open}>
        Columns
      </Button>
      {Menu && <Menu columns={columns} button={button} onClose={() => setMenu(null)} />}
    </>
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
