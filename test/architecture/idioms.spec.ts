import { join } from 'node:path';
import ts from 'typescript';
import { nodesOf, sourcesIn } from './sources';

const root = join(__dirname, '../..');
const planted = join(__dirname, 'violations');

/**
 * Existing exceptions to the rules. They are files with handlers whose names do not end with .handlers.ts, and
 * controllers that query the database themselves. Do not add to this list.
 */
const EXCEPTIONS = {
  'handlers are in *.handlers.ts': [
    'src/imports/import-list.ts',
    'src/launch/launch-links.ts',
    'src/notifications/delivery/attempt-hours.ts',
    'src/notifications/delivery/translation.ts',
    'src/notifications/delivery/undelivered-figures.ts',
    'src/notifications/error-queue/partner-reader.ts',
    'src/notifications/subscriptions/subscription-verification.ts',
  ],
  'controllers access the database only through a reader': [] as string[],
};

const decorators = (folder: string, file: string): string[] =>
  nodesOf(folder, file).flatMap((node) =>
    ts.isDecorator(node) && ts.isCallExpression(node.expression) ? [node.expression.expression.getText()] : [],
  );

function handlersElsewhere(folder: string): string[] {
  return sourcesIn(folder).filter(
    (file) =>
      !file.endsWith('.handlers.ts') &&
      decorators(folder, file).some((name) => ['CommandHandler', 'QueryHandler', 'EventsHandler'].includes(name)),
  );
}

function controllersWithDatabase(folder: string): string[] {
  return sourcesIn(folder).filter(
    (file) =>
      file.endsWith('.controller.ts') &&
      nodesOf(folder, file).some((node) => ts.isImportSpecifier(node) && node.name.text === 'Database'),
  );
}

/**
 * Returns the files that contain a NOTIFY. A NOTIFY in a transaction is dangerous, because the COMMIT fails when
 * PostgreSQL's notification queue is full.
 */
function notifyingFiles(folder: string): string[] {
  return sourcesIn(folder).filter((file) =>
    nodesOf(folder, file).some(
      (node) =>
        (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) &&
        /pg_notify|^\s*NOTIFY\s/im.test(node.getText().slice(1)),
    ),
  );
}

describe('the idioms of every module', () => {
  it('command, query and event handlers are only in files named *.handlers.ts', () => {
    expect(handlersElsewhere(root)).toEqual(EXCEPTIONS['handlers are in *.handlers.ts']);
  });

  it('controllers do not access the database themselves', () => {
    expect(controllersWithDatabase(root)).toEqual(EXCEPTIONS['controllers access the database only through a reader']);
  });

  it('NOTIFY is sent only by the code that runs after a commit, never within a transaction', () => {
    expect(notifyingFiles(root)).toEqual(['src/platform/unit-of-work/hints.ts']);
  });

  it('each check in this file reports a planted violation', () => {
    expect(handlersElsewhere(planted)).toEqual(['src/accounts/handles-elsewhere.ts']);
    expect(controllersWithDatabase(planted)).toEqual(['src/accounts/asks-itself.controller.ts']);
    expect(notifyingFiles(planted)).toEqual(['src/accounts/notifies-itself.ts']);
  });
});
