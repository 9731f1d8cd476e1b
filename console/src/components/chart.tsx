import { lazy, Suspense, useState } from 'react';
import type { ChartProps } from './chart-canvas';
import { local } from './time-text';

/**
 * Loads the code that draws charts. The chart library fails in a browser without a language setting. If the chart
 * cannot be drawn, the table still shows the same data.
 */
const Canvas = lazy(() => import('./chart-canvas').catch(() => ({ default: () => <></> })));

/** Shows values over time: as a chart once the chart library is loaded, and as a table for users who prefer one. */
export function Chart(props: ChartProps) {
  const { label, series, height = 180 } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <figure className="chart">
      <div style={{ minHeight: height }} role="img" aria-label={label}>
        <Suspense>
          <Canvas {...props} height={height} />
        </Suspense>
      </div>
      <figcaption className="chart-legend">
        {series.map(({ label: name, tone }) => (
          <span key={name}>
            <i className={`swatch ${tone}`} aria-hidden="true" /> {name}
          </span>
        ))}
      </figcaption>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>As a table</summary>
        {isOpen && <ChartTable {...props} />}
      </details>
    </figure>
  );
}

/**
 * Shows the values of a chart as a table. The table is rendered only when the user opens it, because it has a row for
 * each hour of a week.
 */
function ChartTable({ label, at, series, unit = '' }: ChartProps) {
  return (
    <div className="chart-table" tabIndex={0} role="region" aria-label={label}>
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ label: name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {at.map((moment, index) => (
            <tr key={moment}>
              <th scope="row">{local(new Date(moment))}</th>
              {series.map(({ label: name, values }) => (
                <td key={name}>
                  {values[index]?.toLocaleString('en') ?? '–'} {values[index] != null && unit}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Draws values as a line without axes, small enough for a table cell. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(1, ...values);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(23 - (22 * value) / most).toFixed(1)}`);
  return (
    <svg className="sparkline" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
