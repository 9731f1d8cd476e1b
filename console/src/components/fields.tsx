import { useId, type ReactNode } from 'react';
import { Checkbox as AriaCheckbox } from 'react-aria-components/Checkbox';
import { FieldError } from 'react-aria-components/FieldError';
import { Input } from 'react-aria-components/Input';
import { Label } from 'react-aria-components/Label';
import { Text } from 'react-aria-components/Text';
import { TextArea } from 'react-aria-components/TextArea';
import { TextField as AriaTextField } from 'react-aria-components/TextField';

interface Labelled {
  label: string;
  hint?: ReactNode;
  /** What is wrong with it. */
  fault?: string;
  required?: boolean;
}

interface TextProps extends Labelled {
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'password' | 'search' | 'email' | 'url' | 'datetime-local' | 'number';
  /** More than one line. */
  rows?: number;
  maxLength?: number;
  autoComplete?: string;
  autoFocus?: boolean;
  disabled?: boolean;
  placeholder?: string;
  name?: string;
}

export function TextField({ label, hint, fault, required = false, rows, disabled, placeholder, ...field }: TextProps) {
  return (
    <AriaTextField
      {...field}
      className="field"
      isRequired={required}
      isInvalid={fault !== undefined}
      isDisabled={disabled}
      validationBehavior="aria"
      spellCheck={rows === undefined ? 'false' : undefined}
    >
      <Label>
        {label}
        {required && <RequiredMark />}
      </Label>
      {rows === undefined ? (
        <Input placeholder={placeholder} step={field.type === 'datetime-local' ? 1 : undefined} />
      ) : (
        <TextArea rows={rows} placeholder={placeholder} />
      )}
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="fault">{fault}</FieldError>
    </AriaTextField>
  );
}

function RequiredMark() {
  return (
    <span aria-hidden="true" className="required">
      {' '}
      *
    </span>
  );
}

export type Option = readonly [value: string, label: string];

interface SelectProps extends Labelled {
  value: string;
  onChange: (value: string) => void;
  options: readonly Option[];
  disabled?: boolean;
}

/** The browser's own list: it works by keyboard, by touch and at any size of the window. */
export function Select({ label, hint, fault, required = false, value, onChange, options, disabled }: SelectProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && <RequiredMark />}
      </label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        aria-required={required || undefined}
        aria-invalid={fault !== undefined || undefined}
        aria-describedby={hint || fault ? `${id}-more` : undefined}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {(hint || fault) && (
        <span id={`${id}-more`} className={fault ? 'fault' : 'hint'}>
          {fault ?? hint}
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
      <AriaCheckbox className="checkbox" isSelected={value} onChange={onChange} isDisabled={disabled}>
        <span className="box" aria-hidden="true" />
        {label}
      </AriaCheckbox>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}

interface ChoicesProps extends Labelled {
  value: readonly string[];
  onChange: (value: string[]) => void;
  options: readonly Option[];
}

/** Several of a few. */
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
