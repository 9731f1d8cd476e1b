import { Button } from './button';
import type { Option } from './fields';
import type { FormState } from './form';
import { Picker } from './picker';

interface Props {
  form: FormState;
  name: string;
  label: string;
  options: readonly Option[];
  hasCodes?: boolean;
  /** The text that the field shows while no option is chosen. */
  none?: string;
}

/** Shows the form field with which the user chooses any number of options by their names. */
export function ChosenField({ form, name, label, options, hasCodes, none = 'None chosen' }: Props) {
  const chosen = form.values[name] as string[];

  function choose(text: string) {
    // The picker does not offer chosen options. If the user types the name of such an option, `text` is this name.
    const code = options.find(([each, label]) => each === text || label === text)?.[0] ?? text;
    if (!chosen.includes(code)) form.set(name, [...chosen, code]);
  }

  return (
    <div className="chosen-field">
      <Picker
        label={label}
        hint={form.rule(name).description}
        fault={form.faults[name]}
        hasCodes={hasCodes}
        options={options.filter(([code]) => !chosen.includes(code))}
        // After each choice, the field becomes empty for the next choice.
        value=""
        onChange={choose}
      />
      <ul aria-label={`Chosen: ${label.toLowerCase()}`} className="chosen-list">
        {chosen.length === 0 && <li className="hint">{none}</li>}
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
