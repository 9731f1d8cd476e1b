import { LinkButton } from '../components/button';
import { Page } from '../components/page';

/** Explains to staff of single accounts that they cannot use the page at this address. */
export function AdminOnly() {
  return (
    <Page title="No access" lead="This page needs an operator with the scope admin.">
      <LinkButton to="/">Home</LinkButton>
    </Page>
  );
}
