import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport, type Transporter } from 'nodemailer';
import { HttpConfig } from '../platform/http/http.config.js';
import { parseUrl } from '../platform/urls.js';
import { htmlText, plainText, type AlertContent } from './alert-text.rules.js';
import { AlertsConfig } from './alerts.config.js';

/** The time limits, in milliseconds, for connecting to the mail server and for each of its responses. */
const CONNECT_MS = 8_000;
const ANSWER_MS = 10_000;
/** The time limit of the whole conversation with the mail server, in milliseconds. */
export const MAIL_MS = 20_000;

/** The parts of a failure that a problem document shows. */
interface FailedOutcome {
  readonly failure: string | null;
  readonly reason: string | null;
  readonly httpStatus: number | null;
}

/** A failure to send a message. The message of the error contains no address and no secret. */
export class SendFailure extends Error {
  /** @param isPartial whether some recipients have received the message */
  constructor(
    message: string,
    readonly outcome: FailedOutcome,
    readonly isPartial = false,
  ) {
    super(message);
  }
}

/**
 * Sends mail through the server in `SMTP_URL`. The connection uses TLS if the server offers it, and credentials are
 * sent only over TLS.
 */
@Injectable()
export class Mail implements OnApplicationShutdown {
  private transport: Transporter | null = null;

  constructor(
    private readonly config: AlertsConfig,
    private readonly http: HttpConfig,
  ) {}

  onApplicationShutdown(): void {
    this.transport?.close();
  }

  /**
   * Sends the message to all recipients.
   * @param id the id of the message, which is the same each time it is sent
   * @throws SendFailure
   */
  async send(recipients: readonly string[], content: AlertContent, id: string): Promise<void> {
    const { smtpUrl, mailFrom } = this.config;
    if (smtpUrl === null || mailFrom === null) throw failed('Mail is not configured');
    this.transport ??= createTransport({ ...limits(smtpUrl), url: smtpUrl }) as Transporter;
    const { baseUrl } = this.http;
    const message = {
      from: mailFrom,
      to: [...recipients],
      subject: content.title,
      text: plainText(content, baseUrl),
      html: htmlText(content, baseUrl),
      messageId: `<${id}@${hostOf(baseUrl)}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: AbortSignal.timeout(MAIL_MS),
    };
    try {
      const { accepted, rejected } = await this.transport.sendMail(message);
      if ((rejected ?? []).length > 0)
        throw failed('The mail server refused some recipients', null, (accepted ?? []).length > 0);
    } catch (error) {
      throw error instanceof SendFailure ? error : failureOf(error);
    }
  }
}

/** Returns the options that query parameters of `SMTP_URL`, such as `requireTLS=false`, may override. */
function limits(smtpUrl: string): object {
  const url = new URL(smtpUrl);
  const hasCredentials = url.username !== '' && url.protocol === 'smtp:';
  return {
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
    dnsTimeout: CONNECT_MS,
    ...(hasCredentials && !url.searchParams.has('requireTLS') ? { requireTLS: true } : {}),
  };
}

const CAUSES: Readonly<Record<string, string>> = {
  EAUTH: 'The mail server refused the user name or the password',
  EENVELOPE: 'The mail server refused the sender or the recipients',
  EMESSAGE: 'The mail server refused the message',
  ETLS: 'The mail server does not offer TLS, or its certificate is not accepted',
  EDNS: 'The name of the mail server has no address',
  ETIMEDOUT: 'The mail server did not answer in time',
};

/** Returns the failure without the server's own texts, which may contain addresses. */
function failureOf(error: unknown): SendFailure {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  const isAborted = (error as { name?: unknown }).name === 'AbortError';
  const name = isAborted ? 'ETIMEDOUT' : typeof code === 'string' ? code : null;
  const cause = CAUSES[name ?? ''] ?? 'The mail server could not be reached';
  const details = [name, responseCode].filter((part) => typeof part === 'string' || typeof part === 'number');
  return failed(details.length === 0 ? cause : `${cause} (${details.join(' ')})`, name);
}

function failed(message: string, reason: string | null = null, isPartial = false): SendFailure {
  return new SendFailure(message, { failure: 'mail', reason, httpStatus: null }, isPartial);
}

function hostOf(baseUrl: string): string {
  return parseUrl(baseUrl)?.hostname ?? 'localhost';
}
