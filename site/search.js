// The search of the guide, which runs in the browser. The index is loaded when the reader begins to type.
import MiniSearch from 'minisearch';

const MOST = 12;
const up = document.documentElement.dataset.up;
const input = document.getElementById('search');
const list = document.getElementById('found');

let loading;
const load = () => {
  loading ??= fetch(`${up}search.json`)
    .then((answer) => answer.json())
    .then((sections) => {
      const search = new MiniSearch({
        idField: 'address',
        fields: ['heading', 'page', 'text'],
        storeFields: ['heading', 'page'],
        // Codes and paths also count as words.
        tokenize: (text) => text.split(/[^\p{L}\p{N}_-]+/u).filter((word) => word !== ''),
        searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
      });
      search.addAll(sections);
      return search;
    });
  return loading;
};

async function show() {
  const asked = input.value.trim();
  const search = await load();
  if (asked !== input.value.trim()) return;
  const found = asked === '' ? [] : search.search(asked).slice(0, MOST);
  list.replaceChildren(
    ...found.map(({ id, heading, page }) => {
      const link = document.createElement('a');
      link.href = up + id;
      link.textContent = heading === page ? page : `${page}: ${heading}`;
      const item = document.createElement('li');
      item.setAttribute('role', 'option');
      item.append(link);
      return item;
    }),
  );
  if (asked !== '' && found.length === 0) {
    const item = document.createElement('li');
    item.textContent = 'Nothing found.';
    list.append(item);
  }
  list.hidden = asked === '';
  input.setAttribute('aria-expanded', String(!list.hidden));
}

input.addEventListener('focus', load, { once: true });
input.addEventListener('input', show);
input.form.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') list.hidden = true;
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  }
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const links = [...list.querySelectorAll('a')];
  if (list.hidden || links.length === 0) return;
  const at = links.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
  (links[at] ?? input).focus();
  event.preventDefault();
});
