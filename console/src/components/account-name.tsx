import { useAccountOptions } from './account-options';
import { Code } from './code';

/** Shows an account by its name, with its code below. If the name is not known, only the code is shown. */
export function AccountName({ code }: { code: string | null | undefined }) {
  const options = useAccountOptions();
  if (code == null) return <span className="nothing">–</span>;
  const name = options.find(([each]) => each === code)?.[1];
  return (
    <span className="account">
      <bdi>{name ?? code}</bdi>
      {/* Until the names arrive, a space reserves the line for the code, so that no content moves. */}
      {name !== undefined ? (
        <small>
          <Code>{code}</Code>
        </small>
      ) : (
        options.length === 0 && <small>{'\u00a0'}</small>
      )}
    </span>
  );
}

/** Returns the name of an account. If the name is not known, returns the code of the account. */
export function useAccountName(code: string): string {
  return useAccountOptions().find(([each]) => each === code)?.[1] ?? code;
}

/** Shows the name of an account in a line of text, with its code as a tooltip. */
export function AccountNameInline({ code }: { code: string }) {
  return <bdi title={code}>{useAccountName(code)}</bdi>;
}

/** Shows a list of accounts by their names. */
export function AccountNames({ codes }: { codes: readonly string[] }) {
  return (
    <ul className="plain-list">
      {codes.map((code) => (
        <li key={code}>
          <AccountNameInline code={code} />
        </li>
      ))}
    </ul>
  );
}
