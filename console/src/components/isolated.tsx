import { Fragment, type ReactNode } from 'react';

/** Shows texts in one line. The text direction of one text does not affect the order of the others. */
export function Isolated({ of, by = ' · ' }: { of: readonly ReactNode[]; by?: string }) {
  return of.map((text, index) => (
    <Fragment key={index}>
      {index > 0 && by}
      <bdi>{text}</bdi>
    </Fragment>
  ));
}
