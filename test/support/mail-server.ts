import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { eventually } from './eventually.js';
import { sharedCertificates } from './partner.js';

export interface ReceivedMail {
  readonly recipients: string[];
  readonly isEncrypted: boolean;
  readonly user: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
}

const USER = 'alerts';
const PASSWORD = 'pass/word';

/** A mail server on loopback that supports STARTTLS and requires a password. It keeps the mails that it receives. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** The number of mails that clients have offered, including mails that the server refused. */
  offered = 0;
  /** The status with which the server refuses every mail; null if it accepts mails. */
  refusal: number | null = null;
  /** The only recipient address that the server refuses (with 550). */
  refusedRecipient: string | null = null;
  /** Whether the server receives mails, but never acknowledges them. */
  isSilent = false;
  private readonly server: SMTPServer;
  private port = 0;

  private constructor(
    certPem: string,
    keyPem: string,
    private readonly caPem: string,
  ) {
    this.server = new SMTPServer({
      cert: certPem,
      key: keyPem,
      authMethods: ['PLAIN', 'LOGIN'],
      onAuth: ({ username, password }, _session, done) =>
        username === USER && password === PASSWORD ? done(null, { user: username }) : done(new Error('Invalid login')),
      onRcptTo: ({ address }, _session, done) =>
        address === this.refusedRecipient
          ? done(Object.assign(new Error(`Refused for ${address}`), { responseCode: 550 }))
          : done(),
      onData: (stream, session, done) => {
        this.offered += 1;
        // If the server is silent when a mail is offered, the mail is never accepted, even if the server is no longer
        // silent.
        const { isSilent } = this;
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          if (isSilent) return;
          if (this.refusal !== null)
            return done(Object.assign(new Error('Refused for somebody@example.org'), { responseCode: this.refusal }));
          const recipients = session.envelope.rcptTo.map(({ address }) => address);
          const user = typeof session.user === 'string' ? session.user : null;
          this.mails.push({
            recipients,
            isEncrypted: session.secure,
            user,
            ...parsed(Buffer.concat(chunks).toString()),
          });
          done();
        });
      },
    });
    this.server.on('error', () => undefined);
  }

  static async start(): Promise<MailServer> {
    const { authority, good } = await sharedCertificates();
    const server = new MailServer(good.certPem, good.keyPem, authority.certPem);
    await server.comeUp();
    return server;
  }

  async comeUp(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.server.address() as AddressInfo).port;
  }

  /** The settings of a service that sends its mail to this server. */
  get settings(): { SMTP_URL: string; MAIL_FROM: string } {
    const url = `smtp://${USER}:${encodeURIComponent(PASSWORD)}@localhost:${this.port}`;
    return {
      SMTP_URL: `${url}?tls.ca=${encodeURIComponent(this.caPem)}`,
      MAIL_FROM: 'Exams <exams@example.org>',
    };
  }

  /** Waits for a mail whose subject matches. */
  async received(subject: RegExp, withinMs = 25_000): Promise<ReceivedMail> {
    return eventually(() => {
      const found = this.mails.find(({ headers }) => subject.test(headers['subject'] ?? ''));
      if (found) return found;
      throw new Error(`No mail matches ${subject}: ${this.mails.map(({ headers }) => headers['subject']).join(', ')}`);
    }, withinMs);
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(resolve));
  }
}

function parsed(raw: string): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const { headers, body } = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1];
  const parts = body.split(`--${boundary}`).map(split);
  const of = (type: string) => {
    const part = parts.find((one) => one.headers['content-type']?.startsWith(type));
    return part === undefined ? '' : decoded(part);
  };
  return { headers, text: of('text/plain'), html: of('text/html') };
}

function split(part: string): { headers: Record<string, string>; body: string } {
  const text = part.replace(/^\r\n/, '');
  const end = text.indexOf('\r\n\r\n');
  const lines = text
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { headers, body: text.slice(end + 4) };
}

function decoded({ headers, body }: { headers: Record<string, string>; body: string }): string {
  const encoding = headers['content-transfer-encoding'];
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
