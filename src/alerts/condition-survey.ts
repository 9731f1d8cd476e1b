import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { SurveyOverdueApprovals } from '../eligibility/eligibility.queries.js';
import {
  FindDeliveryStall,
  SurveyExamsSoon,
  SurveyPartnerSigns,
  type NamedPartner,
  type PartnerSigns,
} from '../notifications/conditions.queries.js';
import { AuditReader } from '../platform/audit/audit.reader.js';
import { Clock } from '../platform/clock.js';
import { parseUrl } from '../platform/urls.js';
import { SurveyOverdueUnmatched } from '../results/results.queries.js';
import type { Condition, ConditionName } from './conditions.js';
import { expiringStep } from './alerts.rules.js';

const EXAM_HOURS = 2;
const UNMATCHED_MINUTES = 60;
const APPROVAL_HOURS = 24;
/** The number of newest seals (signed hashes of audit rows) that each check of the audit log verifies. */
const NEWEST_SEALS = 50;
/**
 * The number of seals that each check of the audit log verifies in addition to the newest seals. Each check continues
 * where the previous check ended.
 */
const MORE_SEALS = 200;
/** The interval between checks of the audit log, in milliseconds. Each check reads thousands of rows. */
const AUDIT_MS = 60_000;

/** A check, with the names of the conditions that it can find. */
type Check = readonly [readonly ConditionName[], () => Promise<readonly Condition[]>];

/** The result of a survey, with the conditions that hold and the names of all conditions that were checked. */
export interface Survey {
  readonly conditions: readonly Condition[];
  readonly checked: ReadonlySet<ConditionName>;
}

/** Finds the alert conditions that hold now. Asks the modules that own the tables, with queries on the query bus. */
@Injectable()
export class ConditionSurvey {
  private auditNotBefore = 0;
  /** The id of the seal (a signed hash of audit rows) with which the next check of the audit log continues. */
  private nextSeal = '0';

  constructor(
    private readonly queryBus: QueryBus,
    private readonly audit: AuditReader,
    private readonly clock: Clock,
  ) {}

  /** Checks the given conditions. Call it in the transaction that stores the result. */
  async run(wanted: ReadonlySet<ConditionName>): Promise<Survey> {
    const conditions: Condition[] = [];
    const checked = new Set<ConditionName>();
    const checks: Check[] = [
      [['PARTNER_FAILING', 'PARTNER_DOWN', 'PARTNER_RECOVERED', 'CERTIFICATE_EXPIRING'], () => this.partners()],
      [['EXAM_SOON_UNDELIVERED'], () => this.exams()],
      [['UNMATCHED_RESULTS'], () => this.unmatched()],
      [['APPROVALS_WAITING'], () => this.approvals()],
      [['DELIVERY_STALLED'], () => this.stall()],
    ];
    if (performance.now() >= this.auditNotBefore) checks.push([['AUDIT_BROKEN'], () => this.brokenAudit()]);
    for (const [names, check] of checks) {
      if (!names.some((name) => wanted.has(name))) continue;
      conditions.push(...(await check()));
      for (const name of names) checked.add(name);
    }
    return { conditions, checked };
  }

  private async partners(): Promise<Condition[]> {
    const now = this.clock.now();
    return (await this.queryBus.execute(new SurveyPartnerSigns())).flatMap((signs) => conditionsOf(signs, now));
  }

  private async exams(): Promise<Condition[]> {
    const found = await this.queryBus.execute(new SurveyExamsSoon(EXAM_HOURS));
    return found.map((soon) => ({
      ...ofPartner(soon, 'EXAM_SOON_UNDELIVERED', soon.oldest),
      // The mark is the start of the latest exam that is less than two hours away. When a later exam comes that close,
      // the mark grows, and the condition is reported again.
      mark: soon.last_exam_at.getTime(),
      count: soon.count,
      at: soon.first_exam_at,
    }));
  }

  private async unmatched(): Promise<Condition[]> {
    const found = await this.queryBus.execute(new SurveyOverdueUnmatched(UNMATCHED_MINUTES));
    return found.map(({ account_codes, count, oldest, newest }) => ({
      ...ofService('UNMATCHED_RESULTS', oldest),
      subject: [...account_codes].sort().join(' '),
      accountCodes: account_codes,
      mark: newest.getTime(),
      count,
    }));
  }

  private async approvals(): Promise<Condition[]> {
    const found = await this.queryBus.execute(new SurveyOverdueApprovals(APPROVAL_HOURS));
    return found.map(({ account_code, count, oldest, newest }) => ({
      ...ofService('APPROVALS_WAITING', oldest),
      subject: account_code,
      accountCodes: [account_code],
      mark: newest.getTime(),
      count,
    }));
  }

  private async stall(): Promise<Condition[]> {
    const since = await this.queryBus.execute(new FindDeliveryStall());
    return since === null ? [] : [ofService('DELIVERY_STALLED', since)];
  }

  private async brokenAudit(): Promise<Condition[]> {
    const newest = await this.audit.seals(NEWEST_SEALS);
    let fault: { fromRow: number | null; because: string | null } | null = newest.agrees
      ? null
      : { fromRow: newest.from_row, because: newest.because };
    // If fewer than NEWEST_SEALS seals were compared, either the log has no other seals, or one of the newest seals has
    // a fault. In both cases, no other seals need to be compared.
    if (newest.checked_seals === NEWEST_SEALS) {
      const others = await this.audit.sealsFrom(this.nextSeal, MORE_SEALS);
      this.nextSeal = others.next;
      fault = others.fault ?? fault;
    }
    this.auditNotBefore = performance.now() + AUDIT_MS;
    if (fault === null) return [];
    const detail = `from row ${fault.fromRow} on: ${fault.because}`;
    return [{ ...ofService('AUDIT_BROKEN', this.clock.now()), detail }];
  }
}

function ofService(condition: ConditionName, since: Date): Condition {
  const nothing = { endedAt: null, partner: null, count: null, at: null, detail: null };
  return { condition, subject: '', accountCodes: null, since, mark: 0, ...nothing };
}

function ofPartner(named: NamedPartner, condition: ConditionName, since: Date): Condition {
  const { subscription_id, account_code, subscription_name, partner_url } = named;
  return {
    ...ofService(condition, since),
    subject: subscription_id,
    accountCodes: [account_code],
    // A partner that polls may have neither a name nor an address.
    partner: { subscription_id, name: subscription_name ?? (hostOf(partner_url) || subscription_id) },
  };
}

function hostOf(url: string): string {
  return parseUrl(url)?.host ?? url;
}

function conditionsOf(signs: PartnerSigns, now: Date): Condition[] {
  const { failing_since, failed_since, down_since, was_down_since, was_down_until, recovered_at } = signs;
  const found = [
    ...periodOf(signs, 'PARTNER_FAILING', failing_since, failed_since, recovered_at),
    ...periodOf(signs, 'PARTNER_DOWN', down_since, was_down_since, was_down_until),
  ];
  // A recovery comes after the failures in the list, because it is reported only if the failures were reported before.
  if (recovered_at !== null)
    found.push({ ...ofPartner(signs, 'PARTNER_RECOVERED', recovered_at), mark: recovered_at.getTime() });
  for (const [whose, end] of [
    ['the certificate of the partner', signs.certificate_not_after],
    ['the client certificate that the service shows to the partner', signs.client_certificate_not_after],
  ] as const) {
    const step = end === null ? null : expiringStep(end, now);
    if (step === null) continue;
    const base = ofPartner(signs, 'CERTIFICATE_EXPIRING', now);
    found.push({ ...base, subject: `${base.subject} ${step} ${whose}`, at: end, detail: whose });
  }
  return found;
}

/**
 * Returns a condition that holds now, or that has ended. The mark is the time at which the condition began or, if it
 * has ended, the time of its end. A condition that began and ended between two surveys is therefore recognized as new.
 */
function periodOf(
  named: NamedPartner,
  condition: ConditionName,
  since: Date | null,
  began: Date | null,
  endedAt: Date | null,
): Condition[] {
  if (since !== null) return [{ ...ofPartner(named, condition, since), mark: since.getTime() }];
  if (endedAt === null) return [];
  return [{ ...ofPartner(named, condition, began ?? endedAt), endedAt, mark: endedAt.getTime() }];
}
