import type { EnvironmentReader } from '../platform/environment-reader.js';
import { parseUrl } from '../platform/urls.js';

/** The settings of the mail server for alerts. */
export class AlertsConfig {
  /** The address of the mail server with its credentials; null if it is not set. */
  readonly smtpUrl: string | null;
  readonly mailFrom: string | null;

  constructor(read: EnvironmentReader) {
    this.smtpUrl = read.raw('SMTP_URL') ?? null;
    this.mailFrom = read.raw('MAIL_FROM') ?? null;
    if (this.smtpUrl !== null && !isSmtpUrl(this.smtpUrl))
      read.fault('SMTP_URL', 'must be an address such as smtp://user:password@mail.example.org:587, or smtps://');
    if (this.mailFrom !== null && !/^([^<>\r\n]+ <[^@<>\s]+@[^@<>\s]+>|[^@<>\s]+@[^@<>\s]+)$/.test(this.mailFrom))
      read.fault('MAIL_FROM', 'must be a mail address, or a name and an address such as Exams <exams@example.org>');
    if ((this.smtpUrl === null) !== (this.mailFrom === null))
      read.fault(this.smtpUrl === null ? 'SMTP_URL' : 'MAIL_FROM', 'must be set, because mail needs both settings');
  }

  get hasMail(): boolean {
    return this.smtpUrl !== null && this.mailFrom !== null;
  }
}

function isSmtpUrl(text: string): boolean {
  const url = parseUrl(text);
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== '';
}
