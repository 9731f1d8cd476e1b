import { useQuery } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Page } from '../components/page';
import { Empty, Shown } from '../components/states';
import { conditionOf } from '../partners/condition';
import { ownSubscriptionsQuery } from './own-queries';

type Subscription = Schemas['SubscriptionModel'];

/**
 * Shows the subscriptions of the signed-in partner. If the partner has only one subscription, its page is opened
 * immediately.
 */
export function OwnHomePage() {
  const subscriptions = useQuery(ownSubscriptionsQuery);
  return <Shown query={subscriptions}>{(found) => <Choice of={found} />}</Shown>;
}

function Choice({ of }: { of: readonly Subscription[] }) {
  if (of.length === 1) return <Navigate to="/own/$id" params={{ id: of[0].id }} replace />;
  return (
    <Page title="My subscriptions" lead="Each subscription delivers the notifications for one account to one address.">
      {of.length === 0 ? (
        <Empty>You have no subscriptions. Please contact the operators of the service.</Empty>
      ) : (
        <ul className="panel own-list">
          {of.map((subscription) => {
            const [word, tone] = conditionOf(subscription);
            return (
              <li key={subscription.id}>
                <Link to="/own/$id" params={{ id: subscription.id }}>
                  <bdi>{subscription.name ?? subscription.partner_url}</bdi>
                </Link>{' '}
                <Badge state={word} tone={tone} />
              </li>
            );
          })}
        </ul>
      )}
    </Page>
  );
}
