// Renders Markdown like GitHub, and turns links within the repository into links within the guide.
import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import MarkdownIt from 'markdown-it';

/** Returns the anchor that GitHub gives a heading. */
function slugOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

/**
 * Returns the file name of a diagram's picture. tools/diagrams draws the picture, and the name is a hash of the
 * diagram.
 */
export function pictureOf(diagram) {
  return `${createHash('sha256').update(diagram.trim()).digest('hex').slice(0, 16)}.svg`;
}

/**
 * @param pages maps each source to its page, for links between pages
 * @param root the repository, which contains the other link targets
 */
export function renderer(root, pages) {
  const markdown = new MarkdownIt({ html: false, typographer: false });
  const { fence: plainFence } = markdown.renderer.rules;
  const fence = (...rest) => plainFence(...rest).replace('<pre>', '<pre tabindex="0">');

  markdown.renderer.rules.fence = (tokens, index, options, env, self) => {
    if (tokens[index].info.trim() !== 'mermaid') return fence(tokens, index, options, env, self);
    const name = pictureOf(tokens[index].content);
    if (!existsSync(join(root, 'docs/diagrams', name))) {
      env.faults.push(
        `${env.source} has a diagram without docs/diagrams/${name}: npm run draw --prefix tools/diagrams`,
      );
      return fence(tokens, index, options, env, self);
    }
    env.pictures.add(name);
    const title = markdown.utils.escapeHtml(`Diagram: ${env.sections.at(-1)?.heading ?? env.source}`);
    return `<p class="diagram"><img src="${env.up}diagrams/${name}" alt="${title}" loading="lazy"></p>\n`;
  };
  // Code and tables can be scrolled on their own, so they must be reachable by keyboard.
  for (const [rule, before, after] of [
    ['table_open', '<div class="wide" tabindex="0">', ''],
    ['table_close', '', '</div>'],
  ]) {
    markdown.renderer.rules[rule] = (tokens, index, options, _env, self) =>
      before + self.renderToken(tokens, index, options) + after;
  }

  // The content security policy of the pages forbids style attributes.
  for (const rule of ['th_open', 'td_open'])
    markdown.renderer.rules[rule] = (tokens, index, options, _env, self) => {
      const token = tokens[index];
      const [, side] = /text-align:(\w+)/.exec(token.attrGet('style') ?? '') ?? [];
      token.attrs = side === undefined ? null : [['class', side]];
      return self.renderToken(tokens, index, options);
    };

  markdown.core.ruler.push('guide', ({ tokens, env }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') startSection(token, textOf(tokens[index + 1]), env);
      if (token.type === 'inline') {
        linkAll(token, env);
        env.sections.at(-1)?.text.push(textOf(token));
      } else if (token.type === 'fence' || token.type === 'code_block') env.sections.at(-1)?.text.push(token.content);
    }
  });

  function startSection(token, heading, env) {
    let anchor = slugOf(heading);
    for (let n = 1; env.anchors.has(anchor); n++) anchor = `${slugOf(heading)}-${n}`;
    env.anchors.add(anchor);
    token.attrSet('id', anchor);
    env.sections.push({ level: Number(token.tag[1]), heading, anchor, text: [] });
  }

  function linkAll(inline, env) {
    for (const child of inline.children ?? []) {
      if (child.type === 'link_open') child.attrSet('href', addressOf(child.attrGet('href'), env));
      if (child.type === 'image')
        child.attrSet('src', fileOf(normalize(join(dirname(env.source), child.attrGet('src'))), env));
    }
  }

  /** Returns the address in the guide to which a link of the source leads. */
  function addressOf(href, env) {
    if (/^https?:/.test(href)) return href;
    const [path, anchor = ''] = href.split('#');
    const target = path === '' ? env.source : normalize(join(dirname(env.source), path)).replace(/\/$/, '');
    const page = pages.get(target) ?? pages.get(`${target}/README.md`);
    const hash = anchor === '' ? '' : `#${anchor}`;
    if (page !== undefined) {
      env.links.push({ page, anchor });
      return path === '' ? hash : env.up + page + hash;
    }
    return fileOf(target, env);
  }

  /** A linked file of the repository is copied into the guide. */
  function fileOf(path, env) {
    if (!statSync(join(root, path), { throwIfNoEntry: false })?.isFile())
      env.faults.push(`${env.source} leads to ${path}, which is no file.`);
    else env.files.add(path);
    return `${env.up}files/${path}`;
  }

  /** @returns the page's HTML; `env` has its sections, links, pictures, files and faults afterwards */
  return (source, page, text) => {
    const up = '../'.repeat(page.split('/').length - 1);
    const env = {
      ...{ source, page, up },
      ...{ sections: [], links: [], anchors: new Set(), pictures: new Set(), files: new Set(), faults: [] },
    };
    // Removes comments that mark generated parts, because only programs read them.
    return { html: markdown.render(text.replace(/^<!--.*-->$/gm, ''), env), env };
  };
}

function textOf({ children }) {
  return (children ?? []).map(({ type, content }) => (type === 'softbreak' ? ' ' : content)).join('');
}
