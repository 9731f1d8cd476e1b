import { useAccountOptions } from './account-options';

/** Shows an account by its name, with its code below. Without a known name, only the code is shown. */
export function AccountName({ code }: { code: string | null | undefined }) {
  const name = useAccountOptions().find(([each]) => each === code)?.[1];
  if (code == null) return <span className="nothing">–</span>;
  if (name === undefined) return <span className="code">{code}</span>;
  return (
    <span>
      <bdi>{name}</bdi>
      <small className="code">{code}</small>
    </span>
  );
}

/** Shows the name of an account in a line of text, with its code as a tooltip. */
export function AccountNameInline({ code }: { code: string }) {
  const name = useAccountOptions().find(([each]) => each === code)?.[1];
  return <bdi title={code}>{name ?? code}</bdi>;
}
