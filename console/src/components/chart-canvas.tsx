import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';

interface Series {
  label: string;
  /** The name of a colour in site/look/tokens.css: `good`, `bad`, `accent` or `warn`. */
  tone: string;
  values: readonly (number | null)[];
  kind?: 'bars' | 'line';
}

export interface ChartProps {
  /** The description of the chart in one sentence, for people who cannot see the chart. */
  label: string;
  /** The times to which the chart's values belong, oldest first. */
  at: readonly string[];
  series: readonly Series[];
  unit?: string;
  height?: number;
}

/** Draws a chart. This module is loaded only when there is a chart to draw. */
export default function ChartCanvas({ at, series, unit = '', height = 180 }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current!;
    const colour = (token: string) => getComputedStyle(element).getPropertyValue(`--${token}`).trim() || 'gray';
    let plot: UPlot | undefined;
    const draw = () => {
      plot?.destroy();
      plot = new UPlot(
        {
          width: Math.max(200, element.clientWidth),
          height,
          legend: { show: false },
          cursor: { y: false, drag: { x: false, y: false } },
          scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
          axes: [
            { stroke: resolved(colour('soft')), grid: { show: false }, ticks: { show: false } },
            {
              stroke: resolved(colour('soft')),
              grid: { stroke: resolved(colour('line')), width: 1 },
              ticks: { show: false },
              size: 56,
              values: (_, ticks) => ticks.map((tick) => `${tick.toLocaleString('en')}${unit && ` ${unit}`}`),
            },
          ],
          series: [
            {},
            ...series.map(({ label, tone, kind = 'bars' }) => ({
              label,
              stroke: resolved(colour(tone)),
              fill: kind === 'bars' ? resolved(colour(tone)) : undefined,
              width: kind === 'bars' ? 0 : 1.5,
              // The points are drawn as well, because a line with a single value would be invisible.
              points: { show: kind === 'line', size: 4 },
              paths: kind === 'bars' ? UPlot.paths.bars?.({ size: [0.7, 40], radius: 0.2 }) : undefined,
            })),
          ],
        },
        [at.map((moment) => Date.parse(moment) / 1000), ...series.map(({ values }) => [...values])],
        element,
      );
    };
    /**
     * Resolves the CSS function `light-dark()` to the current colour, because a canvas only understands plain colours.
     */
    const resolved = (value: string): string => {
      element.style.color = value;
      const found = getComputedStyle(element).color;
      element.style.color = '';
      return found;
    };
    draw();
    const sized = new ResizeObserver(() => plot?.setSize({ width: Math.max(200, element.clientWidth), height }));
    sized.observe(element);
    const themed = new MutationObserver(draw);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      sized.disconnect();
      themed.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [at, series, unit, height]);
  return <div ref={place} aria-hidden="true" />;
}
