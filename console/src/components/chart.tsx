import { useState } from 'react';
import { ChartDrawing, type ChartData } from './chart-drawing';
import { local, zoneText } from './time-text';

interface ChartProps extends ChartData {
  /** The description of the chart in one sentence, for people who cannot see the chart. */
  label: string;
  height?: number;
}

/** Shows values over time as a chart. Users who prefer a table can open one below the chart. */
export function Chart(props: ChartProps) {
  const { label, series, height = 180 } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <figure className="chart">
      <div style={{ minHeight: height }} role="img" aria-label={label}>
        <ChartDrawing {...props} height={height} />
      </div>
      <figcaption className="chart-legend">
        {series.map(({ label: name, tone, kind = 'bars' }) => (
          <span key={name}>
            <i className={`swatch ${kind} ${tone}`} aria-hidden="true" /> {name}
          </span>
        ))}
        <span className="chart-zone">{zoneText()}</span>
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

interface SparklineProps {
  delivered: readonly number[];
  failed: readonly number[];
  label: string;
}

const BAR = 4;
const SPARK_HEIGHT = 24;
/** The height of the smallest bar. A single failure among thousands of deliveries must remain visible. */
const LEAST_HEIGHT = 2;

/**
 * Draws the delivered and failed attempts of each hour as bars without axes, small enough for a table cell. Bars of
 * failed attempts extend downwards from the zero line, so that users can distinguish the bars without colour.
 */
export function Sparkline({ delivered, failed, label }: SparklineProps) {
  const above = Math.max(1, ...delivered);
  const most = above + Math.max(0, ...failed);
  const scale = (SPARK_HEIGHT - 2 - LEAST_HEIGHT) / most;
  const line = 1 + above * scale;
  const heightOf = (count: number) => (count > 0 ? Math.max(count * scale, LEAST_HEIGHT) : 0);
  const width = BAR * delivered.length;
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${width} ${SPARK_HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <line x1="0" x2={width} y1={line} y2={line} />
      {delivered.map((count, hour) => (
        <g key={hour}>
          <rect className="good" x={BAR * hour} y={line - heightOf(count)} width={BAR - 1} height={heightOf(count)} />
          <rect className="bad" x={BAR * hour} y={line} width={BAR - 1} height={heightOf(failed[hour])} />
        </g>
      ))}
    </svg>
  );
}
