import { declareFaults, defineProblem } from '../platform/errors.js';

declareFaults({
  condition_unknown: [
    'The value is not a known alert condition.',
    'Use one of the values that the API description lists for `conditions`.',
  ],
  alert_kind_unknown: ['The value is not a known kind of alert.', 'Use EMAIL or WEBHOOK.'],
  member_of_other_kind: [
    'The member is not allowed for this kind of alert.',
    'Send `to` for an EMAIL alert, and `url` and `headers` for a WEBHOOK alert.',
  ],
});

export const mailNotConfigured = defineProblem(
  'mail_not_configured',
  'invalid',
  'The service has no mail server',
  'The settings SMTP_URL and MAIL_FROM are missing, so the service cannot send mail. Set SMTP_URL and MAIL_FROM, or use an alert of the kind WEBHOOK.',
);
export const alertNotDelivered = defineProblem(
  'alert_not_delivered',
  'invalid',
  'The test message could not be delivered',
  'The mail server or the webhook did not accept the message. The members `failure`, `reason` and `http_status` describe the cause.',
  ['failure', 'reason', 'http_status'],
);
