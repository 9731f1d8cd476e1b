import { LinkButton } from '../components/button';
import { Page } from '../components/page';

export function NotFound() {
  return (
    <Page title="There is no such page" lead="The address is wrong, or what it names is gone.">
      <LinkButton to="/">Home</LinkButton>
    </Page>
  );
}
