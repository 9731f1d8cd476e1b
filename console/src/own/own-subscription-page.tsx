import './own.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { Schemas } from '../api/client';
import { ROOT } from '../api/root';
import { Badge } from '../components/badge';
import { LinkButton } from '../components/button';
import { Copyable } from '../components/copy';
import { Facts, Page, Section } from '../components/page';
import { Shown } from '../components/states';
import { Time } from '../components/time';
import { NextAttempt } from '../notification/next-attempt';
import { eventText, notifiedText } from '../notification/words';
import { Charts } from '../partners/partner-page';
import { Certificate } from '../partners/partners-page';
import { partnerTitle } from '../partners/partner-name';
import { signInText } from '../partners/sign-in-text';
import { healthOf } from './health-text';
import { OwnActions } from './own-actions';
import { ownSubscriptionQuery } from './own-queries';
import { OwnReplay } from './own-replay';

/** Shows a partner the health and the settings of its own subscription, and buttons for the partner's actions. */
export function OwnSubscriptionPage() {
  const { id } = useParams({ from: '/own/$id' });
  const subscription = useQuery(ownSubscriptionQuery(id));
  return <Shown query={subscription}>{(found) => <Own subscription={found} />}</Shown>;
}

function Own({ subscription }: { subscription: Schemas['OwnSubscription'] }) {
  const { id, name, partner_url: url, statistics } = subscription;
  const { word, tone, fact, step } = healthOf(subscription);
  return (
    <Page
      title={partnerTitle({ subscription_name: name, partner_url: url })}
      badge={<Badge state={word} tone={tone} />}
      actions={
        <LinkButton to="/own/notifications" search={{ subscription_id: id }}>
          Notifications
        </LinkButton>
      }
    >
      <p className={tone === 'good' ? 'note' : `note ${tone}`}>
        <strong>{fact}</strong> {step}
        {word === 'FAILING' && (
          <>
            {' '}
            <Link to="/own/notifications" search={{ subscription_id: id, state: 'ERROR_QUEUE' }}>
              Show the failed notifications
            </Link>
          </>
        )}
      </p>
      <OwnActions subscription={subscription} />
      <Facts
        of={[
          ['Address', url],
          [
            'Events',
            [...subscription.change_reasons.map(eventText), ...subscription.record_changes.map(notifiedText)].join(
              ', ',
            ),
          ],
          ['Authentication', signInText(subscription.auth)],
          ['Failing since', subscription.failing_since && <Time at={subscription.failing_since} />],
          ['Next attempt', subscription.next_probe_at && <NextAttempt at={subscription.next_probe_at} />],
          ['Slowed down until', subscription.paused_until && <Time at={subscription.paused_until} />],
          ['Oldest undelivered event', statistics.oldest_undelivered && <Time at={statistics.oldest_undelivered} />],
          ['Bookings with undelivered events', statistics.bookings_waiting.toLocaleString('en')],
          ['Next exam with undelivered events', statistics.next_booking_on && <Time at={statistics.next_booking_on} />],
          ['Certificate', <Certificate notAfter={statistics.certificate_not_after} />],
          ['Id', <Copyable text={id} />],
        ]}
      />
      <Section title="Attempts in the last 7 days">
        <Charts statistics={statistics} />
      </Section>
      <OwnReplay />
      <Section title="Test your program">
        <p>
          The <a href={new URL('guide/notifications.html', ROOT).href}>guide for partners</a> describes the requests of
          the service. The file{' '}
          <a href={new URL('guide/files/clients/partner/vectors.json', ROOT).href}>vectors.json</a> contains valid and
          forged requests, with which you can test your program’s signature check.
        </p>
      </Section>
    </Page>
  );
}
