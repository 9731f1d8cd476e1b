// Builds the frame of every page. Its only script and style are files of the guide, so that the strictest content
// security policy applies.
import MarkdownIt from 'markdown-it';
import { OUTLINE } from './outline.mjs';

const plain = new MarkdownIt({ html: false });

export const escapeHtml = plain.utils.escapeHtml;
/** Renders a text of the OpenAPI document. */
export const markdownOf = (text) => plain.render(text);

const ALL = OUTLINE.flatMap(([, entries]) => entries).filter(([, , page]) => !page.includes('#'));

const LONGEST_DESCRIPTION = 160;

/** Returns the beginning of the page's first text below a heading, for search engines. */
function descriptionOf(title, sections) {
  const [first = title] = sections.flatMap(({ heading, text }) => text.filter((one) => one !== heading));
  const text = first.replaceAll(/\s+/g, ' ');
  return text.length <= LONGEST_DESCRIPTION ? text : `${text.slice(0, text.lastIndexOf(' ', LONGEST_DESCRIPTION))} …`;
}

export function pageOf({ title, page, html, sections, version }) {
  const up = '../'.repeat(page.split('/').length - 1);
  const at = ALL.findIndex(([, , other]) => other === page);
  const beside = (entry, rel, arrow) =>
    entry === undefined ? '' : `<a rel="${rel}" href="${up}${entry[2]}">${arrow(escapeHtml(entry[0]))}</a>`;
  const here = sections.filter(({ level }) => level === 2);
  return `<!doctype html>
<html lang="en" data-up="${up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(descriptionOf(title, sections))}">
<title>${escapeHtml(title)} · Admit</title>
<link rel="alternate" type="text/markdown" href="${page.split('/').at(-1).replace(/html$/, 'md')}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${up}look/mark.svg">
<link rel="preload" as="font" type="font/woff2" href="${up}look/geist-latin-wght-normal.woff2" crossorigin>
<link rel="stylesheet" href="${up}look/look.css">
<link rel="stylesheet" href="${up}guide.css">
<script type="module" src="${up}search.js"></script>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<a class="brand" href="${up}index.html">Admit <small>Candidate eligibility service</small></a>
<form role="search"><input type="search" id="search" aria-label="Search the guide" placeholder="Search" autocomplete="off" role="combobox" aria-expanded="false" aria-controls="found">
<ol id="found" role="listbox" aria-label="Found" hidden></ol></form>
</header>
<div class="columns">
<nav aria-label="Guide">
${OUTLINE.map(([group, entries]) => section(group, entries, page, up)).join('\n')}
</nav>
<main id="content">
${html}
<footer>
<p>${beside(at < 1 ? undefined : ALL[at - 1], 'prev', (text) => `← ${text}`)} ${beside(at < 0 ? undefined : ALL[at + 1], 'next', (text) => `${text} →`)}</p>
<p>Version ${escapeHtml(version)}</p>
</footer>
</main>
${here.length < 2 ? '' : `<aside><nav aria-label="On this page"><ul>${here.map(({ heading, anchor }) => `<li><a href="#${anchor}">${escapeHtml(heading)}</a></li>`).join('')}</ul></nav></aside>`}
</div>
</body>
</html>
`;
}

function section(group, entries, page, up) {
  const links = entries.map(([title, , target]) => {
    const current = target === page ? ' aria-current="page"' : '';
    return `<li><a href="${up}${target}"${current}>${escapeHtml(title)}</a></li>`;
  });
  return `<p>${escapeHtml(group)}</p><ul>${links.join('')}</ul>`;
}
