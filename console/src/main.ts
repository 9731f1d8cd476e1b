import '@fontsource-variable/geist/wght.css';
import '@fontsource-variable/geist-mono/wght.css';
import './style/base.css';
import './style/shell.css';
import './style/page.css';
import './style/state.css';
import './style/button.css';
import './style/table.css';
import './style/beside.css';
import './style/form.css';
import './style/overlay.css';
import './style/chart.css';
import './style/print.css';
import { loadFirst } from './api/session';
import { applyTheme } from './shell/theme';

const container = document.getElementById('console')!;
applyTheme();
void loadFirst();
// The fonts are loaded before the first page is drawn. Otherwise, content would move when a loaded font replaces the
// browser's font.
const fonts = ['1em "Geist Variable"', '1em "Geist Mono Variable"'].map((font) => document.fonts.load(font));
const patience = new Promise((resolve) => setTimeout(resolve, 2_000));
const drawable = Promise.race([Promise.allSettled(fonts), patience]);
// React is started on its own, because a slow phone is blocked for as long as one script is started.
Promise.all([import('react-dom/client').then(() => import('./app')), drawable]).then(
  ([{ start }]) => start(container),
  (error: Error) => {
    container.textContent = `The console could not be loaded: ${error.message}. Reload the page.`;
  },
);
