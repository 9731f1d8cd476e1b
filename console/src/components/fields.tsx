import { useId, type ReactNode } from 'react';

export interface Labelled {
  label: string;
  hint?: ReactNode;
  /** The message that explains why the field's value is invalid. */
  fault?: string;
  required?: boolean;
}

interface TextProps extends Labelled {
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'password' | 'search' | 'email' | 'url' | 'datetime-local' | 'number';
  /** The number of lines of a field for longer text; omitted for a field with one line. */
  rows?: number;
  maxLength?: number;
  autoComplete?: string;
  autoFocus?: boolean;
  disabled?: boolean;
  name?: string;
}

export function TextField({ label, hint, fault, required, value, onChange, rows, disabled, ...field }: TextProps) {
  return (
    <Field label={label} hint={hint} fault={fault} required={required}>
      {(described) => {
        const control = {
          ...field,
          ...described,
          value,
          disabled,
          onChange: (event: { target: { value: string } }) => onChange(event.target.value),
        };
        return rows === undefined ? (
          <input
            {...control}
            spellCheck="false"
            step={field.type === 'datetime-local' && value.length > 16 ? 1 : undefined}
          />
        ) : (
          <textarea {...control} rows={rows} />
        );
      }}
    </Field>
  );
}

export type Option = readonly [value: string, label: string];

interface SelectProps extends Labelled {
  value: string;
  onChange: (value: string) => void;
  options: readonly Option[];
  disabled?: boolean;
}

/** Shows a native select element, which users can operate by keyboard and by touch, in a window of any size. */
export function Select({ label, hint, fault, required, value, onChange, options, disabled }: SelectProps) {
  return (
    <Field label={label} hint={hint} fault={fault} required={required}>
      {(described) => (
        <select {...described} value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Shows a form control with its label and its hint. If the value is invalid, also shows a message. */
export function Field({
  label,
  hint,
  fault,
  required = false,
  children,
}: Labelled & { children: (described: object) => ReactNode }) {
  const id = useId();
  const said = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && (
          <span aria-hidden="true" className="required">
            {' '}
            *
          </span>
        )}
      </label>
      {children({
        id,
        'aria-required': required || undefined,
        'aria-invalid': fault !== undefined || undefined,
        'aria-describedby': said || undefined,
      })}
      {hint && (
        <span id={`${id}-hint`} className="hint">
          {hint}
        </span>
      )}
      {fault && (
        <span id={`${id}-fault`} className="fault">
          {fault}
        </span>
      )}
    </div>
  );
}

interface CheckboxProps {
  label: ReactNode;
  value: boolean;
  onChange: (value: boolean) => void;
  hint?: ReactNode;
  disabled?: boolean;
}

export function Checkbox({ label, value, onChange, hint, disabled }: CheckboxProps) {
  return (
    <div className="field check">
      <label className="checkbox">
        <input
          type="checkbox"
          checked={value}
          disabled={disabled}
          onChange={(event) => onChange(event.target.checked)}
        />
        {label}
      </label>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}

interface ChoicesProps extends Labelled {
  value: readonly string[];
  onChange: (value: string[]) => void;
  options: readonly Option[];
}

/** Shows checkboxes for a few options. The user can choose any number of them. */
export function Choices({ label, hint, fault, value, onChange, options }: ChoicesProps) {
  const id = useId();
  return (
    <fieldset className="field choices" aria-describedby={hint || fault ? id : undefined}>
      <legend>{label}</legend>
      <div className="options">
        {options.map(([option, text]) => (
          <Checkbox
            key={option}
            label={text}
            value={value.includes(option)}
            onChange={(chosen) =>
              onChange(
                options.map(([each]) => each).filter((each) => (each === option ? chosen : value.includes(each))),
              )
            }
          />
        ))}
      </div>
      {(hint || fault) && (
        <span id={id} className={fault ? 'fault' : 'hint'}>
          {fault ?? hint}
        </span>
      )}
    </fieldset>
  );
}
