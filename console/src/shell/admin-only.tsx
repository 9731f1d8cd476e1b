import { LinkButton } from '../components/button';
import { Page } from '../components/page';

/** Explains to operators without the `admin` scope that they cannot use the page at this address. */
export function AdminOnly() {
  return (
    <Page title="No access" lead="Only operators with the “admin” scope can use this page.">
      <LinkButton to="/">Home</LinkButton>
    </Page>
  );
}
