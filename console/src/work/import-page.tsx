import './work.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useRef } from 'react';
import { AccountName } from '../components/account-name';
import { api, dataOf, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { Copyable } from '../components/copy';
import { counted } from '../components/counted';
import { partsOf } from '../components/items';
import { download } from '../components/list-csv';
import { Facts, Page, Section } from '../components/page';
import { Shown } from '../components/states';
import { Table, type Column } from '../components/table';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { isCsv, sentFile } from './import-files';
import { ImportProgress, importName, isUnderWay } from './import-progress';
import { MOST_SHOWN, refusedLines, refusedRows, saveReport, type RefusedRow } from './import-report';
import { refusedPart } from './csv-rows';

type Import = Schemas['ListedImportModel'];

export function ImportPage() {
  const { account, id } = useParams({ from: '/work/imports/$account/$id' });
  return <ImportItem id={`${account}/${id}`} />;
}

/** Shows an import on its own page, or beside the list. */
export function ImportItem({ id: name }: { id: string }) {
  const [account, id] = partsOf(name);
  const found = useQuery({
    queryKey: ['imports', 'one', account, id],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/accounts/{account_code}/eligibility-imports/{import_id}', {
          params: { path: { account_code: account, import_id: id } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? 1000 : false),
  });
  return <Shown query={found}>{(one) => <OneImport of={one} />}</Shown>;
}

function OneImport({ of }: { of: Import }) {
  const { import_id: id, account_code: account, dry_run: isDry, refused } = of;
  return (
    <Page
      title={importName(of)}
      badge={<Badge state={of.state} />}
      trail={<Link to="/work/imports">Imports</Link>}
      lead={isDry ? 'This was a dry run. The rows were checked, but nothing was changed.' : undefined}
      actions={<Button onPress={() => void saveReport(of)}>Download the report</Button>}
    >
      <div className="panel">
        <ImportProgress of={of} />
      </div>
      <Section title="Details">
        <Facts
          of={[
            ['Account', <AccountName code={account} />],
            ['Sent by', <bdi key="user">{of.username}</bdi>],
            ['Received', <Time at={of.received} />],
            ['Started', <Time at={of.started} />],
            ['Finished', <Time at={of.finished} />],
            ['Id', <Copyable text={id} />],
          ]}
        />
      </Section>
      {refused > 0 && (
        <Section title="Refused rows" actions={<RefusedRows of={of} />}>
          <Refused of={of} />
        </Section>
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<RefusedRow>[] = [
  { id: 'line', header: 'Line', kind: 'number', text: ({ line }) => line },
  { id: 'candidate', header: 'Candidate', kind: 'main', as: 'code', text: ({ candidate }) => candidate },
  { id: 'test', header: 'Test', text: ({ test }) => test },
  { id: 'column', header: 'Column', text: ({ column }) => column },
  { id: 'value', header: 'Value', text: ({ value }) => value },
  { id: 'detail', header: 'Error', text: ({ detail }) => detail },
  { id: 'code', header: 'Code', hidden: true, text: ({ code }) => code },
];

function Refused({ of }: { of: Import }) {
  const { import_id: id, account_code: account, refused } = of;
  const rows = useQuery({
    queryKey: ['imports', 'refused', account, id, refused],
    queryFn: ({ signal }) => refusedRows(of, signal),
  });
  return (
    <Shown query={rows}>
      {(found) => (
        <Table
          name={`refused-rows-${id}`}
          caption="Errors in the refused rows, in the order of the file"
          columns={COLUMNS}
          rowKey={({ key }) => key}
          rows={found}
          count={
            found.length === MOST_SHOWN
              ? `The first ${found.length.toLocaleString('en')} errors; the report contains all errors`
              : undefined
          }
          empty="No errors."
        />
      )}
    </Shown>
  );
}

/**
 * Saves the refused rows as a file, which the operator can correct and send again. The service does not keep the rows.
 * The rows are therefore read from the file that was sent from this browser tab, or from the file that the operator
 * chooses again.
 */
function RefusedRows({ of }: { of: Import }) {
  const again = useRef<HTMLInputElement>(null);
  const sent = sentFile(of.import_id);

  async function save(file: File | undefined) {
    if (file === undefined) return;
    try {
      const [text, lines] = await Promise.all([file.text(), refusedLines(of)]);
      const name = file.name.replace(/(\.\w+)?$/, '-refused$1');
      download(name, refusedPart(text, lines, isCsv(file)), isCsv(file) ? 'text/csv' : 'application/x-ndjson');
      const rows = counted(lines.size, 'refused row', 'refused rows');
      toast(`${name} contains the ${rows}. Correct ${lines.size === 1 ? 'it' : 'them'}, and then import that file.`);
    } catch (error) {
      toast(`The refused rows could not be saved: ${(error as Error).message}`, 'bad');
    }
  }

  if (sent) return <Button onPress={() => void save(sent)}>Download the refused rows</Button>;
  return (
    <>
      <Button onPress={() => again.current?.click()}>Choose the file again to download the refused rows …</Button>
      <input
        ref={again}
        type="file"
        hidden
        aria-label="The imported file"
        accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson"
        onChange={({ target }) => void save(target.files?.[0])}
      />
    </>
  );
}
