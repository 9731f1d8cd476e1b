import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import type { Express } from 'express';

const document = readFileSync(join(__dirname, '../../docs/notifications.md'), 'utf8');

/** Returns the code blocks of docs/notifications.md in a language. */
export const documentedBlocks = (language: string): string[] =>
  [...document.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, code]) => code);

/** The functions in the JavaScript blocks of docs/notifications.md, which are run unchanged. */
export const { isGenuine, receiver } = compileFunction(
  `${documentedBlocks('js').join('\n')}\nreturn { isGenuine, receiver };`,
  ['require'],
)(createRequire(__filename)) as {
  isGenuine: (
    headers: Record<string, string | undefined>,
    body: Buffer,
    secret: string,
    /** The time in seconds. */
    now?: number,
  ) => boolean;
  receiver: (settings: { secret: string; store: (id: string, notification: unknown) => Promise<unknown> }) => Express;
};
