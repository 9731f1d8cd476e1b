import './work.css';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useRef, useState, type FormEvent } from 'react';
import { AccountName } from '../components/account-name';
import { ACCOUNT_FILTER, useAccountOptions } from '../components/account-options';
import { api, pageOf, type Schemas } from '../api/client';
import { useLive } from '../api/live';
import { ProblemError } from '../api/problem';
import { ROOT } from '../api/root';
import { FROM_CONSOLE, sessionFetch, useScopes } from '../api/session';
import { Badge, stateText } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Checkbox } from '../components/fields';
import { Filters, type Filter } from '../components/filters';
import { partsOf, type Items } from '../components/items';
import { later } from '../components/later';
import { List } from '../components/list';
import { Page, Section } from '../components/page';
import { Picker } from '../components/picker';
import { ProblemNote } from '../components/states';
import type { Column } from '../components/table';
import { toast } from '../components/toast';
import type { operations } from '../../../clients/typescript/src/openapi';
import { isCsv, keepSentFile } from './import-files';
import { ImportHelp } from './import-help';
import { importName, ImportProgress, isUnderWay } from './import-progress';
import { saveReport } from './import-report';
import { WorkNav } from './work-nav';

type Import = Schemas['ListedImportModel'];
type Query = NonNullable<operations['listAllImports']['parameters']['query']>;

const STATES = ['RECEIVING', 'RUNNING', 'DONE', 'FAILED', 'ABORTED'] as const;
const FILTERS: readonly Filter[] = [
  { ...ACCOUNT_FILTER, main: true },
  { name: 'state', label: 'State', options: STATES.map((state) => [state, stateText(state)] as const) },
];

const COLUMNS: readonly Column<Import>[] = [
  {
    id: 'file',
    header: 'File',
    kind: 'main',
    cell: (row) => <FileLink of={row} />,
    text: ({ file_name: name }) => name,
  },
  {
    id: 'received',
    header: 'Received',
    as: 'time',
    text: ({ received }) => received,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ state, dry_run: dry }) => (
      <>
        <Badge state={state} />
        {dry && <small>dry run</small>}
      </>
    ),
    text: ({ state }) => state,
  },
  {
    id: 'progress',
    header: 'Rows',
    cell: (row) => <ImportProgress of={row} />,
    text: ({ done, rows }) => `${done} of ${rows}`,
  },
  {
    id: 'refused',
    header: 'Refused',
    hidden: true,
    kind: 'number',
    text: ({ refused }) => refused,
  },
  {
    id: 'by',
    header: 'Account',
    cell: ({ account_code: account, username }) => (
      <>
        <AccountName code={account} />
        <small>
          <bdi>{username}</bdi>
        </small>
      </>
    ),
    text: ({ account_code: account }) => account,
  },
  { id: 'do', header: 'Action', cell: (row) => <ImportActions of={row} /> },
];

function FileLink({ of }: { of: Import }) {
  // Reading a report requires the `read` scope.
  if (!useScopes().includes('read')) return <bdi>{importName(of)}</bdi>;
  return (
    <Link to="/work/imports/$account/$id" params={{ account: of.account_code, id: of.import_id }}>
      <bdi>{importName(of)}</bdi>
    </Link>
  );
}

function ImportActions({ of }: { of: Import }) {
  const queries = useQueryClient();
  const scopes = useScopes();
  const { import_id } = of;

  async function abort() {
    const done = await confirm({
      title: 'Abort the import?',
      text: (
        <p>
          {of.done.toLocaleString('en')} rows have been imported and will be kept. The remaining rows will not be
          imported.
        </p>
      ),
      action: 'Abort',
      danger: true,
      perform: () => api.POST('/admin/imports/{import_id}/abort', { params: { path: { import_id } } }),
    });
    if (done) void queries.invalidateQueries({ queryKey: ['imports'] });
  }

  return (
    <div className="actions">
      {scopes.includes('read') && (
        <Button small onPress={() => void saveReport(of)}>
          Report
        </Button>
      )}
      {isUnderWay(of) && (
        <Button small kind="danger" onPress={() => void abort()}>
          Abort …
        </Button>
      )}
    </div>
  );
}

const IMPORTS: Items<Import> = {
  idOf: ({ account_code: account, import_id: id }) => `${account}/${id}`,
  pageOf: (name) => {
    const [account, id] = partsOf(name);
    return { to: '/work/imports/$account/$id', params: { account, id } };
  },
  load: later(async () => (await import('./import-page')).ImportItem),
};

export function ImportsPage() {
  const { open, ...search } = useSearch({ from: '/work/imports' });
  const scopes = useScopes();
  useLive(['imports'], [['imports']]);
  return (
    <Page
      title="Imports"
      trail={<WorkNav />}
      lead="This page lists the imported eligibility files and the outcome of each import."
    >
      {scopes.includes('create') && <Upload />}
      <Section title="All imports">
        <Filters of={FILTERS} />
        <List
          name="imports"
          caption="Imports, newest first"
          columns={COLUMNS}
          rowKey={({ import_id: id }) => id}
          // Reading an import requires the `read` scope.
          items={scopes.includes('read') ? IMPORTS : undefined}
          queryKey={['imports', search]}
          load={(cursor, signal) =>
            pageOf(
              api.GET('/admin/imports', { params: { query: { ...(search as Query), cursor, limit: 50 } }, signal }),
            )
          }
          empty="No matches."
        />
      </Section>
    </Page>
  );
}

/**
 * Shows the form that uploads an import file. By default, the import is a dry run, which lists the rows that would be
 * refused and changes no data.
 */
function Upload() {
  const queries = useQueryClient();
  const file = useRef<HTMLInputElement>(null);
  const [account, setAccount] = useState('');
  const [dryRun, setDryRun] = useState(true);
  const [missing, setMissing] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    const chosen = file.current?.files?.[0];
    setError(null);
    setMissing(
      chosen === undefined ? 'Choose a file.' : account.trim() === '' ? 'Enter the code of the account.' : null,
    );
    if (chosen === undefined || account.trim() === '' || busy) return;
    setBusy(true);
    try {
      await send(account.trim(), chosen, dryRun);
      toast(
        dryRun
          ? 'The file was received. The rows are being checked. A dry run changes no data.'
          : 'The file was received. The rows are being imported.',
      );
      void queries.invalidateQueries({ queryKey: ['imports'] });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Section title="Import a file">
      <form className="panel upload" onSubmit={(event) => void submit(event)} noValidate>
        <Picker label="Account" required hasCodes options={useAccountOptions()} value={account} onChange={setAccount} />
        <div className="field">
          <label htmlFor="import-file">A CSV file, or an NDJSON file with one record per line</label>
          <input id="import-file" ref={file} type="file" accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson" />
          <span className="hint">A file may have up to 1,000,000 rows and a size of up to 512 MiB.</span>
          <ImportHelp />
        </div>
        <Checkbox
          label="Dry run"
          hint="A dry run checks the rows and reports errors, without changing anything."
          value={dryRun}
          onChange={setDryRun}
        />
        {missing !== null && (
          <p className="fault" role="alert">
            {missing}
          </p>
        )}
        {error !== null && <ProblemNote error={error} />}
        <div className="actions">
          <Button type="submit" kind="primary" isPending={busy}>
            {dryRun ? 'Start the dry run' : 'Import'}
          </Button>
        </div>
      </form>
    </Section>
  );
}

/**
 * Uploads the import file to the service.
 * @throws ProblemError
 */
async function send(account: string, file: File, dryRun: boolean): Promise<void> {
  const address = new URL(`accounts/${encodeURIComponent(account)}/eligibility-imports`, ROOT);
  address.search = new URLSearchParams({ dry_run: String(dryRun), file_name: file.name.slice(-255) }).toString();
  const type = isCsv(file) ? 'text/csv' : 'application/x-ndjson';
  const response = await sessionFetch(
    new Request(address, { method: 'POST', headers: { ...FROM_CONSOLE, 'Content-Type': type }, body: file }),
  );
  if (!response.ok) throw await ProblemError.of(response);
  const { import_id } = (await response.json()) as Schemas['ImportAnswer'];
  keepSentFile(import_id, file);
}
