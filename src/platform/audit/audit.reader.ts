import { Injectable } from '@nestjs/common';
import { In, LessThan } from 'typeorm';
import type { AllowedAccounts } from '../context/caller.js';
import { Database } from '../database/database.js';
import type { Page } from '../http/paging.js';
import { Secrets } from '../secrets.js';
import type { AuditQuery } from './audit.dto.js';
import { AuditRow } from './audit-row.entity.js';
import { newestSeals, sealsFrom } from './audit-verification.js';

/** An audit entry, with its position in a paged list. */
export type PlacedAuditRow = AuditRow & { position: number };

/** Reads the audit log, newest entries first. */
@Injectable()
export class AuditReader {
  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
  ) {}

  /**
   * Returns the audit entries that match the filters, and that belong to the accounts in `allowedAccounts`; null means
   * all accounts.
   */
  async list(query: AuditQuery, allowedAccounts: AllowedAccounts, page: Page): Promise<PlacedAuditRow[]> {
    const find = this.database.manager.createQueryBuilder(AuditRow, 'row').orderBy('row.id', 'DESC').limit(page.take);
    for (const name of ['actor', 'action', 'subject', 'account_code'] as const)
      if (query[name] !== undefined) find.andWhere(`row.${name} = :${name}`, { [name]: query[name] });
    if (allowedAccounts !== null) find.andWhere('row.account_code = ANY (:accounts)', { accounts: allowedAccounts });
    if (query.from !== undefined) find.andWhere('row.at >= :from', { from: query.from });
    if (query.to !== undefined) find.andWhere('row.at < :to', { to: query.to });
    if (page.after !== null) find.andWhere('row.id < :after', { after: page.after });
    return (await find.getMany()).map(placed);
  }

  /**
   * Returns the audit entries of an account about any of the given subjects. The account is part of the condition,
   * because the same code may exist in another account.
   */
  async ofSubjects(accountCode: string, subjects: readonly string[], page: Page): Promise<PlacedAuditRow[]> {
    const rows = await this.database.manager.find(AuditRow, {
      where: {
        account_code: accountCode,
        subject: In(subjects),
        ...(page.after === null ? {} : { id: LessThan(page.after) }),
      },
      order: { id: 'DESC' },
      take: page.take,
    });
    return rows.map(placed);
  }

  /**
   * Compares the newest seals of the audit log with the entries that they cover.
   * @param most the maximum number of seals to compare
   */
  seals(most: number): ReturnType<typeof newestSeals> {
    return newestSeals(this.database, this.secrets, most);
  }

  /** Compares at most `most` seals, beginning with the seal `first`, with the entries that the seals cover. */
  sealsFrom(first: string, most: number): ReturnType<typeof sealsFrom> {
    return sealsFrom(this.database, this.secrets, first, most);
  }
}

function placed(row: AuditRow): PlacedAuditRow {
  return { ...row, position: row.id };
}
