import { useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { AccountNameInline, useAccountName } from '../components/account-name';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Copyable } from '../components/copy';
import { Dialog } from '../components/dialog';
import { TextField } from '../components/fields';
import { Form, FormField, useForm } from '../components/form';
import { List } from '../components/list';
import { Page } from '../components/page';
import { Empty } from '../components/states';
import type { Column } from '../components/table';
import { toast } from '../components/toast';
import { KINDS, type Entry, type Kind } from './catalogue';

export function CataloguePage() {
  const { account, kind } = useParams({ from: '/setup/accounts/$account/$kind' });
  const name = useAccountName(account);
  const queries = useQueryClient();
  const [edited, setEdited] = useState<Entry | 'new' | null>(null);
  const known = KINDS[kind];
  const columns = useMemo<readonly Column<Entry>[]>(
    () =>
      known === undefined
        ? []
        : [
            {
              id: 'code',
              header: known.codeLabel,
              kind: 'main',
              cell: ({ code }) => <Copyable text={code} />,
              text: ({ code }) => code,
            },
            { id: 'text', header: 'Description', as: 'name', text: (entry) => entry.text },
            {
              id: 'more',
              header: 'Details',
              text: ({ more }) => more,
            },
            {
              id: 'do',
              header: 'Action',
              cell: (entry) => (
                <div className="actions">
                  <Button small aria-label={`Edit ${entry.code}`} onPress={() => setEdited(entry)}>
                    Edit …
                  </Button>
                  <Button
                    small
                    aria-label={`Delete ${entry.code}`}
                    onPress={() =>
                      void remove(known, account, entry.code).then((done) => {
                        if (done) void queries.invalidateQueries({ queryKey: ['catalogue', account, kind] });
                      })
                    }
                  >
                    Delete …
                  </Button>
                </div>
              ),
            },
          ],
    [known, kind, account, queries],
  );
  const trail = (
    <>
      <Link to="/setup">Accounts</Link>
      <Link to="/setup/accounts/$account" params={{ account }}>
        <AccountNameInline code={account} />
      </Link>
    </>
  );
  if (known === undefined)
    return (
      <Page title="List not found" trail={trail}>
        <Empty>
          This list does not exist. An account has lists of tests, schools, accommodations, attribute keys and vouchers.
        </Empty>
      </Page>
    );
  const saved = () => void queries.invalidateQueries({ queryKey: ['catalogue', account, kind] });

  return (
    <Page
      title={known.title}
      trail={trail}
      actions={
        <Button kind="primary" onPress={() => setEdited('new')}>
          New {known.one} …
        </Button>
      }
    >
      <List
        name={kind}
        caption={
          <>
            {known.title} of <bdi>{name}</bdi>
          </>
        }
        columns={columns}
        rowKey={({ code }) => code}
        queryKey={['catalogue', account, kind]}
        load={(cursor, signal) => known.load(account, cursor, signal)}
        empty={`There is no ${known.one} yet.`}
      />
      {edited !== null && (
        <EntryDialog
          account={account}
          kind={kind}
          entry={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          saved={saved}
        />
      )}
    </Page>
  );
}

async function remove(kind: Kind, account: string, code: string): Promise<boolean> {
  const done = await confirm({
    title: `Delete ${code}?`,
    text: <p>New records will not be able to use this entry. An entry cannot be deleted while records use it.</p>,
    action: 'Delete',
    danger: true,
    perform: () => kind.remove(account, code),
  });
  if (done) toast('Deleted.');
  return done;
}

interface DialogProps {
  account: string;
  kind: string;
  entry: Entry | null;
  onClose: () => void;
  saved: () => void;
}

function EntryDialog({ account, kind, entry, onClose, saved }: DialogProps) {
  const { schema, labels, initial, one, codeLabel, hasPortions = false, save } = KINDS[kind];
  const [code, setCode] = useState(entry?.code ?? '');
  const [portions, setPortions] = useState(entry?.portions ?? 'MAIN Main');
  const [missing, setMissing] = useState(false);
  const form = useForm({
    schema,
    initial: entry?.values ?? initial,
    perform: async (body: object) => {
      const whole = hasPortions ? { ...body, portions: portionsIn(portions) } : body;
      await save(account, code.trim(), whole as never);
      toast('Saved.');
      saved();
      onClose();
    },
  });
  const submit = () => {
    setMissing(code.trim() === '');
    return code.trim() === '' ? Promise.resolve() : form.submit();
  };
  return (
    <Dialog title={entry === null ? `New ${one}` : `Edit ${entry.code}`} onClose={onClose}>
      <Form form={{ ...form, submit }} action="Save" more={<Button onPress={onClose}>Cancel</Button>}>
        <TextField
          label={codeLabel}
          required
          value={code}
          onChange={setCode}
          maxLength={50}
          disabled={entry !== null}
          fault={missing && code.trim() === '' ? 'Required.' : undefined}
          autoFocus={entry === null}
        />
        {Object.entries(labels).map(([name, label]) => (
          <FormField key={name} form={form} name={name} label={label} />
        ))}
        {hasPortions && (
          <TextField
            label="Portions"
            required
            hint="Enter one portion per line: its code, followed by its name."
            rows={4}
            value={portions}
            onChange={setPortions}
          />
        )}
      </Form>
    </Dialog>
  );
}

function portionsIn(text: string): { portion_code: string; portion_name: string | null }[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [portion_code = '', ...name] = line.split(/\s+/);
      return { portion_code, portion_name: name.join(' ') || null };
    });
}
