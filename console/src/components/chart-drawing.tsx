import { useEffect, useId, useRef, useState } from 'react';
import { timeTicks, valueTicks } from './chart-scale';
import { local } from './time-text';

interface Series {
  label: string;
  /**
   * The name of a colour in site/look/tokens.css. Bars of the tone `bad` are hatched, and lines of the tone `warn` are
   * dashed.
   */
  tone: 'good' | 'bad' | 'accent' | 'warn';
  values: readonly (number | null)[];
  /** The shape in which the values are drawn. Bars of several series are stacked in the order of the series. */
  kind?: 'bars' | 'line';
}

export interface ChartData {
  /** The times at which the hours of the chart begin, oldest first. */
  at: readonly string[];
  series: readonly Series[];
  unit?: string;
}

interface Props extends ChartData {
  width: number;
  height: number;
}

const HOUR_MS = 3_600_000;
/** The space below and above the values, in pixels. The time axis is in the space below. */
const BELOW = 24;
const ABOVE = 8;
const DIGIT_PX = 7;
/** The height of the smallest bar, in pixels. A single failure in a busy hour must remain visible. */
const LEAST_BAR_PX = 2;

/** Draws a chart that is as wide as its container. */
export function ChartDrawing(data: ChartData & { height: number }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current!;
    const sized = new ResizeObserver(() => setWidth(element.clientWidth));
    sized.observe(element);
    return () => sized.disconnect();
  }, []);
  return <div ref={place}>{width > 0 && <Drawing {...data} width={width} />}</div>;
}

function Drawing({ at, series, unit = '', width, height }: Props) {
  const hatch = useId();
  const times = at.map((moment) => Date.parse(moment));
  const from = times[0] ?? 0;
  const to = (times.at(-1) ?? 0) + HOUR_MS;
  const bars = series.filter(({ kind }) => kind !== 'line');
  const sums = at.map((_, index) => bars.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const lines = series.filter(({ kind }) => kind === 'line');
  const ticks = valueTicks(Math.max(0, ...sums, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const labels = ticks.map((tick) => `${tick.toLocaleString('en')}${unit && ` ${unit}`}`);
  const left = 10 + DIGIT_PX * Math.max(...labels.map(({ length }) => length));
  const xOf = (time: number) => left + ((width - left) * (time - from)) / Math.max(1, to - from);
  const slot = xOf(from + HOUR_MS) - left;
  const yOf = (value: number) => ABOVE + (height - BELOW - ABOVE) * (1 - value / ticks.at(-1)!);
  const barOf = (index: number, low: number, high: number) => {
    const tall = Math.max(yOf(low) - yOf(high), LEAST_BAR_PX);
    return { x: xOf(times[index]) + slot * 0.12, y: yOf(low) - tall, width: slot * 0.76, height: tall };
  };
  return (
    <svg className="chart-drawing" width={width} height={height}>
      <pattern id={hatch} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect className="hatch-ground" width="4" height="4" />
        <rect className="hatch-line" width="1.75" height="4" />
      </pattern>
      {ticks.map((tick, index) => (
        <g key={tick}>
          <line className="chart-line" x1={left} x2={width} y1={yOf(tick)} y2={yOf(tick)} />
          <text x={left - 6} y={yOf(tick)} textAnchor="end" dominantBaseline="central">
            {labels[index]}
          </text>
        </g>
      ))}
      {timeTicks(from, to, width - left).map(({ at: time, label }) => (
        <text key={time} className="chart-date" x={xOf(time)} y={height - 5}>
          {label}
        </text>
      ))}
      {times.map((time, index) => (
        <rect key={time} className="chart-slot" x={xOf(time)} y={ABOVE} width={slot} height={height - BELOW - ABOVE}>
          <title>{slotText(time, index, series, unit)}</title>
        </rect>
      ))}
      {bars.map(({ label, tone, values }, rank) =>
        values.map((value, index) => {
          if (!value) return null;
          const below = bars.slice(0, rank).reduce((sum, other) => sum + (other.values[index] ?? 0), 0);
          return (
            <rect
              key={`${label} ${index}`}
              className={`chart-bar ${tone}`}
              fill={tone === 'bad' ? `url(#${hatch})` : undefined}
              {...barOf(index, below, below + value)}
            />
          );
        }),
      )}
      {lines.map(({ label, tone, values }) => (
        <path
          key={label}
          className={`chart-path ${tone}`}
          d={pathOf(values, (index, value) => `${xOf(times[index] + HOUR_MS / 2).toFixed(1)} ${yOf(value).toFixed(1)}`)}
        />
      ))}
    </svg>
  );
}

/** Returns the values of one hour in words, for the tooltip. */
function slotText(time: number, index: number, series: readonly Series[], unit: string): string {
  const values = series.map(({ label, values: all }) => {
    const value = all[index];
    return `${label} ${value == null ? '–' : `${value.toLocaleString('en')}${unit && ` ${unit}`}`}`;
  });
  return `${local(new Date(time))}: ${values.join(', ')}`;
}

/**
 * Returns the SVG path through the values. A missing value interrupts the path. A value without neighbours becomes a
 * dot.
 */
function pathOf(values: readonly (number | null)[], place: (index: number, value: number) => string): string {
  return values
    .map((value, index) => {
      if (value === null) return '';
      const isFirst = (values[index - 1] ?? null) === null;
      const isLast = (values[index + 1] ?? null) === null;
      return `${isFirst ? 'M' : 'L'}${place(index, value)}${isFirst && isLast ? 'h0.01' : ''}`;
    })
    .join('');
}
