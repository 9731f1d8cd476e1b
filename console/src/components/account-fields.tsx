import { Button } from './button';
import { Picker } from './picker';
import type { FormState } from './form';
import { useAccountOptions } from './account-options';

interface Props {
  form: FormState;
  name: string;
  label: string;
}

/** Shows the form field with which the user chooses an account by its name. */
export function AccountField({ form, name, label }: Props) {
  const { isRequired, description } = form.rule(name);
  return (
    <Picker
      label={label}
      hint={description}
      fault={form.faults[name]}
      required={isRequired}
      hasCodes
      options={useAccountOptions()}
      value={String(form.values[name] ?? '')}
      onChange={(value) => form.set(name, value)}
    />
  );
}

/** Shows the form field with which the user chooses any number of accounts by their names. */
export function AccountsField({ form, name, label }: Props) {
  const options = useAccountOptions();
  const chosen = form.values[name] as string[];
  return (
    <div className="accounts-field">
      <Picker
        label={label}
        hint={form.rule(name).description}
        fault={form.faults[name]}
        hasCodes
        options={options.filter(([code]) => !chosen.includes(code))}
        // After each choice, the field becomes empty for the next choice.
        value=""
        onChange={(code) => form.set(name, [...chosen, code])}
      />
      <ul aria-label={`Chosen: ${label.toLowerCase()}`} className="chosen-list">
        {chosen.length === 0 && <li className="hint">None chosen</li>}
        {chosen.map((code) => {
          const shown = options.find(([each]) => each === code)?.[1] ?? code;
          return (
            <li key={code}>
              <bdi title={code}>{shown}</bdi>
              <Button
                small
                aria-label={`Remove ${shown}`}
                onPress={() =>
                  form.set(
                    name,
                    chosen.filter((each) => each !== code),
                  )
                }
              >
                Remove
              </Button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
