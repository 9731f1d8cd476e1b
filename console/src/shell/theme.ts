import { Store } from '../api/store';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'console-theme';

export const theme = new Store<Theme>(kept());

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  theme.set(chosen);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = theme.get();
}

function kept(): Theme {
  const found = localStorage.getItem(KEY);
  return found === 'light' || found === 'dark' ? found : 'system';
}
