import type { LinkProps } from '@tanstack/react-router';
import type { ComponentType } from 'react';

/** The items of a list, which open beside the list in a wide window. */
export interface Items<Row> {
  /** Returns the id of the row's item. The id of the open item is part of the page's address. */
  idOf: (row: Row) => string;
  /** Returns the address of the item's own page. */
  pageOf: (id: string) => Pick<LinkProps, 'to' | 'params'>;
  /** Loads the component that shows an item. */
  load: () => Promise<ComponentType<{ id: string }>>;
}

/** Splits the id of an item that is unique only within its account, such as `ACME/C-1`. No item has an id without a `/`. */
export function partsOf(id: string): [account: string, id: string] {
  const [account, ...rest] = id.split('/');
  return [account, rest.join('/') || '?'];
}
