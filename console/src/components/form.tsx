import { useEffect, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { ProblemError } from '../api/problem';
import { Button } from './button';
import { Checkbox, Choices, Select, TextField, type Option } from './fields';
import { faultOf, kindOf, ruleOf, type FieldValue, type KnownRule, type SchemaName } from './form-rules';
import { ProblemNote } from './states';
import { toLocalText, toUtcText, zoneText } from './time-text';

type Values = Record<string, FieldValue>;

export interface FormState {
  readonly values: Values;
  readonly faults: Record<string, string>;
  readonly error: unknown;
  readonly busy: boolean;
  /** Whether the form has changes that have not been sent. */
  readonly dirty: boolean;
  rule(path: string): KnownRule;
  set(path: string, value: FieldValue): void;
  submit(): Promise<void>;
}

interface Options {
  /**
   * The name of the schema of the request body in the OpenAPI document. The schema contains the rules of the fields.
   */
  schema: SchemaName;
  /**
   * The initial values of the form's fields by their paths (`auth/token`). Each field is a member of the request body.
   */
  initial: Values;
  /**
   * Sends the request body. If the service refuses the body, the form shows each fault at the field for the faulty
   * member.
   */
  perform: (body: never) => Promise<unknown>;
}

/**
 * Creates the state of a form. A request contains all fields in `values`. To omit a hidden field, leave it out of
 * `values`, or let `perform` remove it.
 */
export function useForm({ schema, initial, perform }: Options): FormState {
  const [values, setValues] = useState(initial);
  const [faults, setFaults] = useState<Record<string, string>>({});
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [dirty, setDirty] = useState(false);

  async function submit() {
    if (busy) return;
    const found = faultsIn(schema, values);
    setFaults(found);
    setError(null);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    try {
      await perform(bodyOf(schema, values, initial) as never);
      setDirty(false);
    } catch (caught) {
      setError(caught);
      if (caught instanceof ProblemError) setFaults(atTheirFields(caught, values));
    } finally {
      setBusy(false);
    }
  }

  return {
    values,
    faults,
    error,
    busy,
    dirty,
    rule: (path) => ruleOf(schema, path),
    set: (path, value) => {
      setDirty(true);
      setValues((before) => ({ ...before, [path]: value }));
      setFaults(({ [path]: _, ...others }) => others);
    },
    submit,
  };
}

function faultsIn(schema: SchemaName, values: Values): Record<string, string> {
  const found = Object.entries(values).map(([path, value]) => [path, faultOf(ruleOf(schema, path), value)] as const);
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/**
 * Builds the request body. If a field was empty and is still empty, its member is omitted. If a field had a value and
 * is empty now, its member is null, so that the service clears the stored value.
 */
function bodyOf(schema: SchemaName, values: Values, initial: Values): object {
  const body: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    if (value === '' && (initial[path] ?? '') === '') continue;
    const names = path.split('/');
    const last = names.pop()!;
    let place = body;
    for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>;
    place[last] = value === '' ? null : kindOf(ruleOf(schema, path)) === 'number' ? Number(value) : value;
  }
  return body;
}

/**
 * Maps the faults in an error response to the fields of the form. For example, a fault at `/change_reasons/2` is shown
 * at the field `change_reasons`.
 */
function atTheirFields({ faults }: ProblemError, values: Values): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { pointer, detail } of faults) {
    const path = (pointer ?? '').slice(1);
    const field = Object.keys(values).find((name) => path === name || path.startsWith(`${name}/`));
    if (field !== undefined) found[field] ??= detail;
  }
  return found;
}

interface FormProps {
  form: FormState;
  action: string;
  /** Additional buttons after the form's main button. */
  more?: ReactNode;
  children: ReactNode;
}

export function Form({ form, action, more, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (Object.keys(form.faults).length > 0 && !element.current?.querySelector(':focus[aria-invalid]'))
      element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [form.faults]);
  const untold = form.error !== null && Object.keys(form.faults).length === 0;
  return (
    <form
      ref={element}
      className="form"
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void form.submit();
      }}
    >
      {children}
      {untold && <ProblemNote error={form.error} />}
      {form.error !== null && !untold && (
        <p className="note bad" role="alert">
          <strong>{(form.error as Error).message}</strong> Check the marked fields.
        </p>
      )}
      <div className="actions">
        <Button type="submit" kind="primary" isPending={form.busy}>
          {action}
        </Button>
        {more}
      </div>
    </form>
  );
}

interface FieldProps {
  form: FormState;
  /** The path of the field's member in the request body, such as `name` or `auth/token`. */
  name: string;
  label: string;
  hint?: ReactNode;
  /** Labels for the values of an enumeration, in the order in which the field shows them. */
  options?: readonly Option[];
  type?: 'password';
  rows?: number;
  autoFocus?: boolean;
  /** The time zone in which the user types a time; by default, the browser's time zone. */
  zone?: string;
}

/**
 * Shows the form field that suits the validation rule of a member. The field can be for text, a number, a date and
 * time, one choice, several choices, or a list, or it can be a checkbox.
 */
export function FormField({ form, name, label, hint, options, type, rows, autoFocus, zone }: FieldProps) {
  const rule = form.rule(name);
  const value = form.values[name] ?? '';
  const common = { label, hint: hint ?? rule.description, fault: form.faults[name], required: rule.isRequired };
  const offered =
    options ?? (rule.enum ?? rule.items?.enum)?.filter((each) => each !== null).map((each) => [each, each] as const);

  if (typeof value === 'boolean')
    return <Checkbox label={label} hint={common.hint} value={value} onChange={(next) => form.set(name, next)} />;
  if (Array.isArray(value))
    return offered ? (
      <Choices {...common} value={value} options={offered} onChange={(next) => form.set(name, next)} />
    ) : (
      <TextField
        {...common}
        hint={<>{common.hint} One per line.</>}
        rows={3}
        value={value.join('\n')}
        onChange={(text) => form.set(name, text === '' ? [] : text.split('\n'))}
      />
    );
  if (offered)
    return (
      <Select
        {...common}
        value={value}
        options={rule.isRequired && value !== '' ? offered : [['', '–'], ...offered]}
        onChange={(next) => form.set(name, next)}
      />
    );
  if (rule.format === 'date-time')
    return (
      <TextField
        {...common}
        type="datetime-local"
        label={`${label} (${zoneText(zone)})`}
        value={toLocalText(value, zone)}
        onChange={(text) => form.set(name, text === '' ? '' : toUtcText(text, zone))}
        autoFocus={autoFocus}
      />
    );
  return (
    <TextField
      {...common}
      type={type ?? 'text'}
      rows={rows}
      maxLength={kindOf(rule) === 'number' ? undefined : rule.maxLength}
      value={value}
      onChange={(text) => form.set(name, text)}
      autoFocus={autoFocus}
      autoComplete={type === 'password' ? 'new-password' : 'off'}
    />
  );
}
