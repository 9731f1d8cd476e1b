import { isDeepStrictEqual } from 'node:util';
import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { CheckWebhookAddress } from '../notifications/notifications.commands.js';
import { Clock } from '../platform/clock.js';
import { Database } from '../platform/database/database.js';
import { notFound, type Fault } from '../platform/errors.js';
import { FindKnownAccounts } from '../platform/known-accounts.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Faults } from '../platform/validation/faults.js';
import { fault } from '../platform/validation/rules.js';
import { AlertMessage } from './alert-message.entity.js';
import { AlertOccurrence } from './alert-occurrence.entity.js';
import { AlertSecrets } from './alert-secrets.js';
import { Alert } from './alert.entity.js';
import { AlertsConfig } from './alerts.config.js';
import { DeleteAlert, PutAlert, TestAlert } from './alerts.commands.js';
import { DEFAULT_QUIET_S, type AlertBody } from './alerts.dto.js';
import { mailNotConfigured } from './alerts.errors.js';
import { AlertsReader } from './alerts.reader.js';
import { AlertTest } from './alert-test.js';
import { CONDITIONS } from './conditions.js';

@CommandHandler(PutAlert)
export class PutAlertHandler implements ICommandHandler<PutAlert> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly config: AlertsConfig,
    private readonly secrets: AlertSecrets,
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ name, body }: PutAlert): Promise<Alert> {
    const found = await this.faultsOf(body);
    return this.unitOfWork.run(async () => {
      const { manager } = this.database;
      const lock = { mode: 'pessimistic_write' } as const;
      const kept = await manager.findOne(Alert, { where: { name }, lock });
      const headers = headerFaults(body, kept);
      this.refuse([...found, ...headers], body);
      const alert = this.changed(name, body, kept);
      await manager.upsert(Alert, alert, ['name']);
      if (alert.disabled) await forget(this.database, name);
      this.unitOfWork.audit('alert.put', name);
      return (await manager.findOneBy(Alert, { name }))!;
    });
  }

  /** Returns the faults that only the database or a name server can reveal. */
  private async faultsOf({ url, account_codes }: AlertBody): Promise<Fault[]> {
    const address = url == null ? null : await this.commandBus.execute(new CheckWebhookAddress(url, '/url'));
    const known = account_codes == null ? [] : await this.queryBus.execute(new FindKnownAccounts(account_codes));
    const unknown = (account_codes ?? []).flatMap((code, index) =>
      known.includes(code) ? [] : [fault('account_not_found', 'No account has this code.', `/account_codes/${index}`)],
    );
    return [...(address === null ? [] : [address]), ...unknown];
  }

  /**
   * Refuses the request if it has faults, or if its alert needs a mail server and none is configured. If the missing
   * mail server is the only fault, the error is `mail_not_configured`; otherwise the missing server is listed with the
   * other faults.
   */
  private refuse(found: readonly Fault[], { kind }: AlertBody): void {
    if (kind !== 'EMAIL' || this.config.hasMail) return new Faults(found).refuse();
    const missing = [fault('mail_not_configured', 'The service has no mail server for this kind of alert.', '/kind')];
    if (found.length === 0) throw mailNotConfigured.error({ errors: missing });
    new Faults([...missing, ...found]).refuse();
  }

  private changed(name: string, body: AlertBody, kept: Alert | null): Partial<Alert> {
    const now = this.clock.now();
    const isWebhook = body.kind === 'WEBHOOK';
    const disabled = body.disabled ?? false;
    const keepsActive = kept !== null && !kept.disabled && !disabled;
    return {
      name,
      kind: body.kind,
      recipients: isWebhook ? null : [...new Set(body.to)],
      url: isWebhook ? body.url! : null,
      ...(isWebhook && keepsHeaders(body, kept) ? {} : this.secrets.seal(name, headersOf(body))),
      watched_accounts: body.account_codes?.length ? [...new Set(body.account_codes)] : null,
      conditions: CONDITIONS.filter((condition) => !body.conditions?.length || body.conditions.includes(condition)),
      quiet_s: body.quiet_s ?? DEFAULT_QUIET_S,
      disabled,
      active_from: keepsActive ? kept.active_from : now,
      // After a change to the alert, its waiting messages are sent immediately. A process that still sends to the old
      // address loses its lease.
      failures: 0,
      retry_datetime: null,
      lease_token: null,
      leased_until: null,
      created_datetime: kept?.created_datetime ?? now,
      updated_datetime: now,
    };
  }
}

/** Returns whether the request keeps the stored headers. A request does so if it omits the headers or their values. */
function keepsHeaders({ headers }: AlertBody, kept: Alert | null): boolean {
  if (headers == null || headers.length === 0) return headers === undefined;
  const names = headers.filter(({ value }) => value == null).map((header) => header.name);
  return names.length === headers.length && isDeepStrictEqual(names, kept?.header_names);
}

function headersOf({ headers }: AlertBody): { name: string; value: string }[] {
  return (headers ?? []).map(({ name, value }) => ({ name, value: value! }));
}

/**
 * Returns a fault for each new header without a value. If the request keeps the stored headers, a change to another
 * host is the only possible fault. The stored values were given only for the old host.
 */
function headerFaults(body: AlertBody, kept: Alert | null): Fault[] {
  const { kind, url, headers } = body;
  if (kind !== 'WEBHOOK') return [];
  if (!keepsHeaders(body, kept))
    return (headers ?? []).flatMap(({ value }, index) =>
      value == null ? [fault('required', 'Must be given.', `/headers/${index}/value`)] : [],
    );
  if (kept?.header_values == null || kept.url === null) return [];
  if (new URL(kept.url).hostname === new URL(url!).hostname) return [];
  return [
    fault(
      'auth_required',
      'A change to another host requires headers in the same request. Send null to use no headers.',
      '/headers',
    ),
  ];
}

/** Deletes the waiting messages of a disabled alert, and the state of its conditions. */
async function forget({ manager }: Database, name: string): Promise<void> {
  await manager.delete(AlertOccurrence, { alert_name: name });
  await manager
    .createQueryBuilder()
    .delete()
    .from(AlertMessage)
    .where('alert_name = :name AND sent_datetime IS NULL', { name })
    .execute();
}

@CommandHandler(DeleteAlert)
export class DeleteAlertHandler implements ICommandHandler<DeleteAlert> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ name }: DeleteAlert): Promise<void> {
    await this.unitOfWork.run(async () => {
      const { affected } = await this.database.manager.delete(Alert, { name });
      if (affected === 0) throw notFound.error({ detail: 'There is no such alert.' });
      this.unitOfWork.audit('alert.delete', name);
    });
  }
}

@CommandHandler(TestAlert)
export class TestAlertHandler implements ICommandHandler<TestAlert> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly reader: AlertsReader,
    private readonly test: AlertTest,
  ) {}

  async execute({ name }: TestAlert): Promise<Alert> {
    const alert = await this.reader.get(name);
    // The audit entry is written before the test message is sent, so that the audit log also contains failed tests.
    await this.unitOfWork.run(() => Promise.resolve(this.unitOfWork.audit('alert.test', name)));
    await this.test.send(alert);
    return this.reader.get(name);
  }
}
