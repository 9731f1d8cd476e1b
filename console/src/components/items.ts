import type { LinkProps } from '@tanstack/react-router';
import type { ComponentType } from 'react';

/** The items of a list. In a wide window, an item opens beside the list. */
export interface Items<Row> {
  /** Returns the id of the row's item. The id of the open item is part of the page's address. */
  idOf: (row: Row) => string;
  /** Returns the address of the item's own page. */
  pageOf: (id: string) => Pick<LinkProps, 'to' | 'params'>;
  /** Loads the component that shows an item. */
  load: () => Promise<ComponentType<{ id: string }>>;
}

/**
 * Splits an id that begins with the account, such as `ACME/C-1`. If nothing follows a `/`, the second part is `?`,
 * which is the id of no item.
 */
export function partsOf(id: string): [account: string, id: string] {
  const [account, ...rest] = id.split('/');
  return [account, rest.join('/') || '?'];
}
