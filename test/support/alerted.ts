import type { TestApp } from './app';
import { MailServer, type ReceivedMail } from './mail-server';

/** Creates alerts, and returns the mails that these alerts cause. */
export class Alerted {
  constructor(
    readonly app: TestApp,
    readonly mail: MailServer,
  ) {}

  async put(name: string, body: Record<string, unknown>): Promise<Record<string, any>> {
    const answer = await this.call('PUT', name, body);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body as Record<string, any>;
  }

  /**
   * Creates an alert by mail for the given conditions of an account. Returns the address to which the mails are sent.
   */
  async watch(account: string, conditions: string[], changes: Record<string, unknown> = {}): Promise<string> {
    const name = this.app.given.unique('alert-');
    const to = `${name}@example.org`;
    await this.put(name, { kind: 'EMAIL', to: [to], account_codes: [account], conditions, quiet_s: 0, ...changes });
    return to;
  }

  async get(name: string): Promise<Record<string, any>> {
    return (await this.call('GET', name)).body as Record<string, any>;
  }

  async call(method: string, path: string, body?: unknown) {
    const token = await this.app.given.operator();
    return this.app.call(method, `/admin/alerts/${path}`, { token, body });
  }

  /** Returns the mails to a recipient, oldest first. */
  to(recipient: string): ReceivedMail[] {
    return this.mail.mails.filter(({ recipients }) => recipients.includes(recipient));
  }

  async advance(advance_s: number): Promise<void> {
    const token = await this.app.given.operator();
    const answer = await this.app.call('POST', '/sandbox/clock', { token, body: { advance_s } });
    if (answer.status !== 200) throw new Error(answer.text);
  }
}
