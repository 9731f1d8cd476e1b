import { startTransition, useEffect, useState } from 'react';

/** The number of rows that are rendered in one step. With more rows, a slow phone would be blocked for too long. */
const ROWS_IN_A_STEP = 20;
let isFirstTable = true;

/**
 * Returns the number of rows to render now. In the first table after the start of the console, it grows in steps until
 * all rows are rendered. Later tables render all rows at once, so that a list keeps its scroll position when the user
 * goes back.
 */
export function useMoreRows(total: number): number {
  const [most, setMost] = useState(isFirstTable ? ROWS_IN_A_STEP : Infinity);
  useEffect(() => {
    if (most < total) startTransition(() => setMost(most + ROWS_IN_A_STEP));
    else isFirstTable = false;
  }, [most, total]);
  return most;
}
