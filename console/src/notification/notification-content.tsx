import { CopyButton } from '../components/copy';
import { Section } from '../components/page';
import { Attempts, type AttemptsProps } from './attempts';

/** Shows the attempts and the body of a notification. */
export function NotificationContent({ notification, subscription }: AttemptsProps) {
  const body = JSON.stringify(notification.body, null, 2);
  return (
    <>
      <Section title="Attempts">
        <Attempts notification={notification} subscription={subscription} />
      </Section>
      <Section title="Body" actions={<CopyButton text={() => body} label="Copy the body" />}>
        <details className="panel">
          <summary>Show the notification body (contains personal data)</summary>
          <pre tabIndex={0} aria-label="Body">
            {body}
          </pre>
        </details>
      </Section>
    </>
  );
}
