import { LinkButton } from '../components/button';
import { Page } from '../components/page';

export function NotFound() {
  return (
    <Page title="Page not found" lead="The address is wrong, or the page no longer exists.">
      <LinkButton to="/">Home</LinkButton>
    </Page>
  );
}
