import { Fragment, type ReactNode } from 'react';

/**
 * Shows texts one after another, with a separator. A right-to-left text does not change the order of the other texts.
 */
export function Isolated({ of, by = ' · ' }: { of: readonly ReactNode[]; by?: string }) {
  return of.map((text, index) => (
    <Fragment key={index}>
      {index > 0 && by}
      <bdi>{text}</bdi>
    </Fragment>
  ));
}
