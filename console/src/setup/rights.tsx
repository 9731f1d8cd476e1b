import type { ReactNode } from 'react';
import { AccountNameInline } from '../components/account-name';
import { confirm } from '../components/confirm';
import { Isolated } from '../components/isolated';
import { PartnerNameInline } from '../partners/partner-filter';

interface Rights {
  scopes: readonly string[];
  account_codes?: readonly string[];
  subscription_ids?: readonly string[];
  disabled: boolean;
}

interface Change {
  scopes?: readonly string[] | null;
  account_codes?: readonly string[] | null;
  subscription_ids?: readonly string[] | null;
  disabled?: boolean | null;
  password?: string | null;
}

function disables(before: Rights, { disabled }: Change): boolean {
  return disabled === true && !before.disabled;
}

/** Returns the consequences of a change that revokes tokens and sessions; an empty list for any other change. */
function consequencesOf(before: Rights, change: Change): ReactNode[] {
  const { scopes, account_codes: accounts, subscription_ids: subscriptions, password } = change;
  const lost = (had: readonly string[] = [], has: readonly string[] | null | undefined) =>
    has === undefined ? [] : had.filter((one) => !has?.includes(one));
  const removed = [
    ...lost(before.scopes, scopes),
    ...lost(before.account_codes, accounts).map((code) => <AccountNameInline code={code} />),
    ...lost(before.subscription_ids, subscriptions).map((id) => <PartnerNameInline id={id} />),
  ];
  return [
    disables(before, change)
      ? 'All tokens and sessions of this user or application will be revoked. Enabling the user or application again will not restore them.'
      : null,
    removed.length > 0 ? (
      <>
        Tokens and sessions that include <Isolated of={removed} by=", " /> will be revoked.
      </>
    ) : null,
    password ? 'The user will be signed out everywhere, and all the user’s tokens will be revoked.' : null,
  ].filter((text) => text !== null);
}

/**
 * Changes the rights of a user or an application. If the change revokes tokens or sessions, asks for confirmation
 * first. Returns whether the change was made.
 */
export async function changeRights(
  name: string,
  before: Rights,
  change: Change,
  perform: () => Promise<unknown>,
): Promise<boolean> {
  const consequences = consequencesOf(before, change);
  if (consequences.length === 0) {
    await perform();
    return true;
  }
  const action = disables(before, change) ? 'Disable' : 'Change';
  return confirm({
    title: `${action} ${name}?`,
    name,
    text: <Isolated of={consequences} by=" " />,
    action,
    danger: true,
    perform,
  });
}
