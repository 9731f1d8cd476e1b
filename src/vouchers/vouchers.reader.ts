import { Injectable } from '@nestjs/common';
import { Database } from '../platform/database/database.js';
import { newestFirst, type Page } from '../platform/http/paging.js';
import { Voucher } from './voucher.entity.js';

/** Reads the vouchers of an account. */
@Injectable()
export class VouchersReader {
  constructor(private readonly database: Database) {}

  /** Returns a page of the account's vouchers, newest first. */
  list(accountCode: string, page: Page): Promise<Voucher[]> {
    return this.database.manager.find(Voucher, newestFirst(page, { account_code: accountCode }));
  }

  find(accountCode: string, voucherCode: string): Promise<Voucher | null> {
    return this.database.manager.findOneBy(Voucher, { account_code: accountCode, voucher_code: voucherCode });
  }
}
