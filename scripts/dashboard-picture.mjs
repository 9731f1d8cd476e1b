// Draws a dashboard from what Prometheus answered: each panel where Grafana puts it, by uPlot in a headless Chromium.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const uplot = (file) => readFileSync(join(dirname(require.resolve('uplot/package.json')), 'dist', file), 'utf8');

const COLUMN_PX = 56;
const ROW_PX = 30;

const STYLE = `
  body { margin: 0; padding: 12px; width: ${24 * COLUMN_PX}px; font: 12px sans-serif; color: #1f2328; background: #f4f5f6; }
  h1 { font-size: 16px; margin: 0 0 8px; }
  main { position: relative; }
  section { position: absolute; box-sizing: border-box; padding: 6px 8px; background: #fff; border: 1px solid #d6d9dc; }
  h2 { font-size: 12px; margin: 0 0 2px; }
  ul { margin: 0; padding: 0; list-style: none; white-space: nowrap; overflow: hidden; }
  li { display: inline-block; margin-right: 10px; font-size: 11px; }
  p { color: #59636e; }
  i { display: inline-block; width: 10px; height: 3px; margin-right: 4px; vertical-align: middle; }`;

/** Runs in the page. */
function fill({ from, to, panels, columnPx, rowPx }) {
  const COLOURS = ['#2f6fb5', '#c2572b', '#3b8a4c', '#8a4fa8', '#a68a1f', '#2a8f94', '#b23a5e', '#6b6f76'];
  const BYTES = ['B', 'KiB', 'MiB', 'GiB'];
  const short = (value) => String(Number(value.toPrecision(3)));
  const written = {
    s: (value) => (value !== 0 && value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`),
    bytes: (value) => {
      const step = value < 1 ? 0 : Math.min(3, Math.floor(Math.log2(value) / 10));
      return `${short(value / 1024 ** step)} ${BYTES[step]}`;
    },
    percentunit: (value) => `${short(value * 100)} %`,
    reqps: (value) => `${short(value)} /s`,
    ops: (value) => `${short(value)} /s`,
  };
  const make = (name, parent, text = '') =>
    Object.assign(parent.appendChild(document.createElement(name)), { textContent: text });
  const times = Array.from({ length: to - from + 1 }, (_none, second) => from + second);
  const main = document.querySelector('main');
  for (const { heading, gridPos, unit, series } of panels) {
    const section = make('section', main);
    const [width, height] = [gridPos.w * columnPx - 8, gridPos.h * rowPx - 8];
    section.style = `left:${gridPos.x * columnPx}px;top:${gridPos.y * rowPx}px;width:${width}px;height:${height}px`;
    make('h2', section, heading);
    const lines = series.map(({ label, values }, index) => {
      const at = new Map(values.map(([time, value]) => [Math.round(time), Number(value)]));
      const points = times.map((time) => (Number.isFinite(at.get(time)) ? at.get(time) : null));
      return { label, points, stroke: COLOURS[index % COLOURS.length] };
    });
    const list = make('ul', section);
    for (const { label, stroke } of lines) {
      const entry = make('li', list);
      make('i', entry).style = `background:${stroke}`;
      entry.append(label);
    }
    if (lines.length === 0) {
      make('p', section, 'No data');
      continue;
    }
    const box = make('div', section);
    const grid = { stroke: '#e6e8ea', width: 1 };
    const font = '10px sans-serif';
    new uPlot(
      {
        width: width - 18,
        height: height - 44,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [
          { grid, font, values: (_chart, ticks) => ticks.map((time) => `${Math.round(time - from)} s`) },
          { grid, font, size: 62, values: (_chart, ticks) => ticks.map(written[unit] ?? short) },
        ],
        series: [{}, ...lines.map(({ label, stroke }) => ({ label, stroke, width: 1.5, points: { show: false } }))],
      },
      [times, ...lines.map(({ points }) => points)],
      box,
    );
  }
}

/** @param dashboard `{ title, from, to, panels: [{ heading, gridPos, unit, series: [{ label, values }] }] }`, times in seconds */
export async function drawDashboard({ title, ...shown }, file) {
  const { startBrowser } = require('../dist/test/support/browser.js');
  const rows = Math.max(...shown.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
  const browser = await startBrowser();
  try {
    // Chromium without a locale of the system has one that its own Intl refuses.
    const locale = 'en-GB';
    const viewport = { width: 24 * COLUMN_PX + 24, height: rows * ROW_PX + 50 };
    const page = await browser.newPage({ locale, viewport });
    await page.setContent(
      `<meta charset="utf-8"><style>${uplot('uPlot.min.css')}${STYLE}</style><h1>${title}</h1><main></main>`,
    );
    await page.addScriptTag({ content: uplot('uPlot.iife.min.js') });
    await page.evaluate(fill, { ...shown, columnPx: COLUMN_PX, rowPx: ROW_PX });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, await page.screenshot());
  } finally {
    await browser.close();
  }
}
