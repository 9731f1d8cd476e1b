import { useAccountOptions } from './account-options';
import { ChosenField } from './chosen-field';
import type { FormState } from './form';
import { Picker } from './picker';

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
export function AccountsField(props: Props & { none?: string }) {
  return <ChosenField {...props} options={useAccountOptions()} hasCodes />;
}
