import type { LoadedModule, Loader } from './loader';
import type { SqlText } from './sql-texts';

type Statement = Omit<SqlText, 'file'>;
type Assemble = (module: LoadedModule, database: object) => unknown;

/**
 * Sample filters for notifications: a filter of an operator, a filter of staff with access to some accounts, and a
 * filter that has every member.
 */
const FILTERS = [
  {},
  { account_codes: ['ACME'] },
  {
    account_codes: ['ACME'],
    failure: 'TIMEOUT',
    http_status: 200,
    reason: 'none',
    booking_code: 'B',
    candidate_id: 'C',
  },
  { account_code: 'ACME', subscription_id: 'S', failure: 'none', retry: 'AUTO', from: 'F', to: 'T', reason: 'R' },
];
const FIRST_PAGE = { take: 10, after: null };
const NEXT_PAGE = { take: 10, after: 5 };
const KINDS = ['RESEND', 'REPLAY', 'RESOLVE'];
const NOBODY = { follow: () => undefined };

/**
 * Builds the statements whose text depends on parameters. Each function gets a database that only records the
 * statements. A test fails if this list lacks a function of the sources.
 */
const ASSEMBLED: Readonly<Record<string, Assemble>> = {
  'src/auth/tokens/token-sweep.ts: sweep': ({ exports }, database) =>
    new exports.TokenSweep({ operatorPasswords: false }, database, {}, NOBODY).run(),
  'src/imports/import-store.ts: waiting': async ({ exports }, database) => {
    const store = new exports.ImportStore(database, {});
    for (const lock of [true, false]) await store.waiting('ACME', lock).next();
  },
  'src/notifications/delivery/job-preparation.ts: prepare': async ({ exports }, database) => {
    const preparation = new exports.JobPreparation(database);
    for (const kind of KINDS)
      for (const filter of FILTERS)
        // The sample filter for a replay names one partner, because every filter of a replay must do so.
        await preparation.prepare({
          id: 'J',
          kind,
          prepared_to: 0,
          filter: { ...filter, ...(kind === 'REPLAY' && { subscription_id: 'S' }) },
        });
  },
  'src/notifications/delivery/job-preparation.ts: count': async ({ exports }, database) => {
    const preparation = new exports.JobPreparation(database);
    for (const kind of KINDS) for (const filter of FILTERS) await preparation.count(kind, filter);
  },
  'src/notifications/error-queue/job-reader.ts: list': async ({ exports }, database) => {
    const reader = new exports.JobReader(database);
    await reader.list({}, FIRST_PAGE);
    await reader.list({ kind: 'RESEND', state: 'DONE', account_code: 'ACME', subscription_id: 'S' }, NEXT_PAGE);
  },
  'src/notifications/error-queue/job-reader.ts: items': async ({ exports }, database) => {
    const reader = new exports.JobReader(database);
    for (const outcome of [undefined, 'WAITING']) await reader.items('J', outcome, FIRST_PAGE);
  },
  'src/notifications/error-queue/notification-reader.ts: list': async ({ exports }, database) => {
    const reader = new exports.NotificationReader(database, { of: (filter: object) => ({ filter }) });
    for (const page of [FIRST_PAGE, NEXT_PAGE])
      for (const state of [undefined, 'PENDING', 'DELIVERED', 'ERROR_QUEUE', 'RESOLVED'])
        for (const filter of FILTERS)
          for (const order of ['newest', 'oldest']) await reader.list(filter, state, page, order);
  },
  'src/notifications/error-queue/notification-reader.ts: listByExam': async ({ exports }, database) => {
    const bounds = { of: (filter: object) => ({ filter }) };
    const reader = new exports.NotificationReader(database, bounds, { now: () => new Date() });
    for (const filter of FILTERS)
      for (const examIn of ['past', '2h', 'later'])
        for (const state of [undefined, 'PENDING']) await reader.listByExam(filter, examIn, state, FIRST_PAGE);
  },
  'src/platform/database/encrypted-columns.ts: pass': ({ exports }, database) => {
    const columns = new exports.EncryptedColumns(database, { newest: '1:' });
    columns.add({ table: 'domain_events', key: ['event_id'], columns: { data: () => '' } });
    return columns.reencrypt(() => undefined);
  },
  'src/platform/database/encrypted-columns.ts: renew': ({ exports }, database) => {
    const value = { newest: '1:', encrypt: () => 'new', decrypt: () => 'old' };
    return new exports.EncryptedColumns(database, value).renew('domain_events', ['event_id'], {}, 'data', '');
  },
  'src/platform/housekeeping.ts: run': ({ exports }, database) => new exports.Housekeeping(database, {}, NOBODY).run(),
  'src/results/records/media.handlers.ts: execute': async ({ exports }, database) => {
    for (const media of ['photo', 'video_link'])
      await new exports.ForgetMediaHandler(database).execute({ accountCode: 'ACME', media, before: null });
  },
  'src/sandbox/sandbox-clock.ts: move': ({ evaluate }, database) => {
    const { query } = database as { query: (statement: Statement) => void };
    for (const text of evaluate('clockFunctions(1000)') as string[]) query({ text });
  },
  // These functions build statements about a channel, settings or a database. The statements name no table, and are
  // therefore not checked.
  'src/platform/database/listener.ts: open': () => undefined,
  'src/platform/database/service-client.ts: settle': () => undefined,
  'src/platform/embedded-postgres/embedded-postgres.ts: createDatabase': () => undefined,
  // The `send` function builds no statement. It only sends statements that are declared elsewhere.
  'src/platform/database/statement-retries.ts: send': () => undefined,
};

/** The names of the functions that are known to build statements. */
export const assemblers = Object.keys(ASSEMBLED).sort();

export async function assembledIn(loader: Loader): Promise<SqlText[]> {
  const found = new Map<string, SqlText>();
  for (const [place, assemble] of Object.entries(ASSEMBLED)) {
    const [file] = place.split(':');
    const write = ({ name, text, across }: Statement): void => {
      found.set(`${file} ${text} ${across}`, { file, name, text, across });
    };
    await assemble(loader.load(file), {
      query: (statement: Statement) => (write(statement), Promise.resolve([])),
      queryOne: (statement: Statement) => (write(statement), Promise.resolve({ matched: 0, value: Buffer.alloc(1) })),
      execute: (statement: Statement) => (write(statement), Promise.resolve(0)),
    });
  }
  return [...found.values()];
}
