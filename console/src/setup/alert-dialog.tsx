import { useState } from 'react';
import { api, type Schemas } from '../api/client';
import { AccountsField } from '../components/account-fields';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { Select, TextField, type Option } from '../components/fields';
import { Form, FormField, useForm } from '../components/form';
import { toast } from '../components/toast';
import { CONDITION_OPTIONS } from './alert-text';

type Alert = Schemas['AlertModel'];
type Kind = Alert['kind'];

const KINDS: readonly Option[] = [
  ['EMAIL', 'Mail'],
  ['WEBHOOK', 'Webhook'],
];

interface Props {
  /** The alert to change; null for a new alert. */
  alert: Alert | null;
  onClose: () => void;
  saved: () => void;
}

export function AlertDialog({ alert, onClose, saved }: Props) {
  const [kind, setKind] = useState<Kind>(alert?.kind ?? 'EMAIL');
  const [name, setName] = useState(alert?.name ?? '');
  return (
    <Dialog title={alert === null ? 'New alert' : `Edit ${alert.name}`} name={alert?.name} onClose={onClose}>
      <AlertForm key={kind} {...{ alert, kind, setKind, name, setName, onClose, saved }} />
    </Dialog>
  );
}

interface FormProps extends Props {
  kind: Kind;
  setKind: (kind: Kind) => void;
  name: string;
  setName: (name: string) => void;
}

type Body = Schemas['AlertBody'];

function AlertForm({ alert, kind, setKind, name, setName, onClose, saved }: FormProps) {
  const [missing, setMissing] = useState(false);
  const form = useForm({
    schema: 'AlertBody',
    initial: {
      ...(kind === 'EMAIL' ? { to: alert?.to ?? [] } : { url: alert?.url ?? '', headers: '' }),
      conditions: alert?.conditions ?? CONDITION_OPTIONS.map(([condition]) => condition),
      account_codes: alert?.account_codes ?? [],
      quiet_s: String(alert?.quiet_s ?? 900),
      disabled: alert?.disabled ?? false,
    },
    // The form edits the headers as text, with one header on each line.
    perform: async ({ headers, ...rest }: Omit<Body, 'headers'> & { headers?: string | null }) => {
      const body = {
        ...rest,
        kind,
        ...(headers ? { headers: linesOf(headers).map(headerOf) } : {}),
      };
      await api.PUT('/admin/alerts/{name}', { params: { path: { name: name.trim() } }, body });
      toast('Saved.');
      saved();
      onClose();
    },
  });
  const submit = () => {
    setMissing(name.trim() === '');
    return name.trim() === '' ? Promise.resolve() : form.submit();
  };
  const stored = alert?.headers.map((header) => header.name).join(', ') ?? '';
  return (
    <Form form={{ ...form, submit }} action="Save" more={<Button onPress={onClose}>Cancel</Button>}>
      <TextField
        label="Name"
        required
        value={name}
        onChange={setName}
        maxLength={100}
        disabled={alert !== null}
        fault={missing && name.trim() === '' ? 'Required.' : undefined}
        autoFocus={alert === null}
      />
      <Select label="Send by" value={kind} options={KINDS} onChange={(next) => setKind(next as Kind)} />
      {kind === 'EMAIL' ? (
        <FormField form={form} name="to" label="Recipients" hint="E-mail addresses." />
      ) : (
        <>
          <FormField
            form={form}
            name="url"
            label="Address"
            hint="The https address to which the service sends POST requests."
          />
          <FormField
            form={form}
            name="headers"
            label="Headers"
            rows={2}
            hint={`Enter one header per line, such as Authorization: Bearer 12345. The values will not be shown again.${
              stored === '' ? '' : ` Leave empty to keep the stored headers: ${stored}.`
            }`}
          />
        </>
      )}
      <FormField
        form={form}
        name="conditions"
        label="Conditions"
        hint="Choose the conditions to report."
        options={CONDITION_OPTIONS}
      />
      <AccountsField form={form} name="account_codes" label="Accounts" none="All accounts" />
      <FormField
        form={form}
        name="quiet_s"
        label="Quiet period in seconds"
        hint="The same condition for the same partner or account is reported at most once in this period."
      />
      <FormField form={form} name="disabled" label="Disabled" hint="A disabled alert sends no messages." />
    </Form>
  );
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function headerOf(line: string): { name: string; value: string } {
  const [name, ...value] = line.split(':');
  return { name: name.trim(), value: value.join(':').trim() };
}
