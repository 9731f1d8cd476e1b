import { CommandHandler, QueryBus, QueryHandler, type ICommandHandler, type IQueryHandler } from '@nestjs/cqrs';
import { IsTestNamedByVoucher } from '../accounts/accounts.queries.js';
import { Clock } from '../platform/clock.js';
import { acrossAccounts, Database, prepared, violatedConstraint } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { accountNotFound, forbiddenOperation, notFound } from '../platform/errors.js';
import { Faults } from '../platform/validation/faults.js';
import { unknownTestFaults } from './unknown-tests.js';
import { Voucher } from './voucher.entity.js';
import { VoucherRedemption } from './voucher-redemption.entity.js';
import { DeleteVoucher, PutVoucher, ReleaseVouchers, SetVouchers, type VoucherRefusal } from './vouchers.commands.js';
import { FindAppliedVouchers, FindVoucherRefusals, FindVouchersOfMany } from './vouchers.queries.js';
import { changeOf, type VoucherTerms } from './vouchers.rules.js';

// Selects and locks the vouchers that an eligibility already has, and the vouchers that it will have. Every transaction
// locks voucher rows in the order of their codes, so that no deadlock is possible.
const WANTED_AND_HELD = `
   SELECT voucher_code, test_codes, valid_from, valid_until, max_uses, uses, disabled,
     EXISTS (SELECT FROM voucher_redemptions held
             WHERE held.svc_eligiblity_id = $3 AND held.voucher_code = vouchers.voucher_code) AS held
   FROM vouchers
   WHERE account_code = $1 AND voucher_code = ANY
     ($2::text[] || ARRAY(SELECT voucher_code FROM voucher_redemptions WHERE svc_eligiblity_id = $3))
   ORDER BY voucher_code`;
const FIND_WANTED_AND_HELD = prepared('vouchers-find-wanted-and-held', WANTED_AND_HELD, acrossAccounts.keyInHand);
const LOCK_WANTED_AND_HELD = prepared(
  'vouchers-lock-wanted-and-held',
  `${WANTED_AND_HELD} FOR NO KEY UPDATE OF vouchers`,
  acrossAccounts.keyInHand,
);
const LOCK_HELD = prepared(
  'vouchers-lock-held',
  `SELECT voucher_code FROM vouchers
   WHERE (account_code, voucher_code) IN
     (SELECT account_code, voucher_code FROM voucher_redemptions WHERE svc_eligiblity_id = $1)
   ORDER BY voucher_code FOR NO KEY UPDATE OF vouchers`,
  acrossAccounts.keyInHand,
);
const REDEEM = prepared(
  'vouchers-redeem',
  `WITH spent AS (
     UPDATE vouchers SET uses = uses + 1
     WHERE account_code = $1 AND voucher_code = ANY ($2::text[]) AND uses < max_uses
     RETURNING voucher_code)
   INSERT INTO voucher_redemptions (svc_eligiblity_id, account_code, voucher_code, redeemed_datetime)
   SELECT $3, $1, voucher_code, $4 FROM spent`,
);
const RELEASE = prepared(
  'vouchers-release',
  `WITH released AS (
     DELETE FROM voucher_redemptions WHERE svc_eligiblity_id = $1 AND voucher_code = ANY ($2::text[])
     RETURNING account_code, voucher_code)
   UPDATE vouchers SET uses = uses - 1 FROM released
   WHERE vouchers.account_code = released.account_code AND vouchers.voucher_code = released.voucher_code`,
  acrossAccounts.keyInHand,
);

const FIND_NAMING_TEST = prepared(
  'vouchers-find-naming-test',
  `SELECT 1 FROM vouchers WHERE account_code = $1 AND test_codes @> ARRAY[$2::text] LIMIT 1`,
);
const OF_MANY = prepared(
  'vouchers-of-many',
  `SELECT svc_eligiblity_id, array_agg(voucher_code ORDER BY voucher_code) AS codes
   FROM voucher_redemptions WHERE svc_eligiblity_id = ANY ($1::text[]) GROUP BY svc_eligiblity_id`,
  acrossAccounts.keyInHand,
);

@CommandHandler(PutVoucher)
export class PutVoucherHandler implements ICommandHandler<PutVoucher> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ accountCode, voucherCode, definition }: PutVoucher): Promise<Voucher> {
    const key = { account_code: accountCode, voucher_code: voucherCode };
    try {
      return await this.unitOfWork.run(async () => {
        new Faults(await unknownTestFaults(this.queryBus, accountCode, definition.test_codes)).refuse();
        await this.database.manager.upsert(Voucher, { ...key, ...definition }, Object.keys(key));
        this.unitOfWork.audit('voucher.put', `${accountCode}/${voucherCode}`);
        return this.database.manager.findOneByOrFail(Voucher, key);
      });
    } catch (error) {
      if (violatedConstraint(error) === 'vouchers_account_fk') throw accountNotFound.error({ cause: error });
      throw error;
    }
  }
}

@CommandHandler(DeleteVoucher)
export class DeleteVoucherHandler implements ICommandHandler<DeleteVoucher> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ accountCode, voucherCode }: DeleteVoucher): Promise<void> {
    try {
      await this.unitOfWork.run(async () => {
        const { affected } = await this.database.manager.delete(Voucher, {
          account_code: accountCode,
          voucher_code: voucherCode,
        });
        if (affected === 0) throw notFound.error();
        this.unitOfWork.audit('voucher.delete', `${accountCode}/${voucherCode}`);
      });
    } catch (error) {
      if (violatedConstraint(error) === 'voucher_redemptions_voucher_fk')
        throw forbiddenOperation.error({
          detail: 'An eligibility contains the voucher, so the voucher cannot be deleted. Disable the voucher instead.',
          cause: error,
        });
      throw error;
    }
  }
}

@CommandHandler(SetVouchers)
export class SetVouchersHandler implements ICommandHandler<SetVouchers> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({ accountCode, svcEligibilityId, testCode, voucherCodes }: SetVouchers): Promise<VoucherRefusal[]> {
    return this.unitOfWork.run(async () => {
      const vouchers = await this.database.query<VoucherTerms & { held: boolean }>(LOCK_WANTED_AND_HELD, [
        accountCode,
        voucherCodes,
        svcEligibilityId,
      ]);
      const now = this.clock.now();
      const { redeem, release, refusals } = changeOf(voucherCodes, vouchers, testCode, now);
      if (refusals.length > 0) return refusals;
      if (release.length > 0) await this.database.execute(RELEASE, [svcEligibilityId, release]);
      if (redeem.length === 0) return [];
      const redeemed = await this.database.execute(REDEEM, [accountCode, redeem, svcEligibilityId, now]);
      if (redeemed !== redeem.length) throw new Error('A locked voucher changed under its lock.');
      return [];
    });
  }
}

@QueryHandler(FindAppliedVouchers)
export class FindAppliedVouchersHandler implements IQueryHandler<FindAppliedVouchers> {
  constructor(private readonly database: Database) {}

  async execute({ svcEligibilityId }: FindAppliedVouchers): Promise<string[]> {
    const redemptions = await this.database.manager.findBy(VoucherRedemption, { svc_eligiblity_id: svcEligibilityId });
    return redemptions.map((redemption) => redemption.voucher_code).sort();
  }
}

@QueryHandler(FindVouchersOfMany)
export class FindVouchersOfManyHandler implements IQueryHandler<FindVouchersOfMany> {
  constructor(private readonly database: Database) {}

  async execute({ svcEligibilityIds }: FindVouchersOfMany): Promise<Map<string, string[]>> {
    const rows = await this.database.query<{ svc_eligiblity_id: string; codes: string[] }>(OF_MANY, [
      svcEligibilityIds,
    ]);
    return new Map(rows.map(({ svc_eligiblity_id, codes }) => [svc_eligiblity_id, codes]));
  }
}

@QueryHandler(FindVoucherRefusals)
export class FindVoucherRefusalsHandler implements IQueryHandler<FindVoucherRefusals> {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async execute({
    accountCode,
    svcEligibilityId,
    testCode,
    voucherCodes,
  }: FindVoucherRefusals): Promise<VoucherRefusal[]> {
    const values = [accountCode, voucherCodes, svcEligibilityId];
    const vouchers = await this.database.query<VoucherTerms & { held: boolean }>(FIND_WANTED_AND_HELD, values);
    return changeOf(voucherCodes, vouchers, testCode, this.clock.now()).refusals;
  }
}

@QueryHandler(IsTestNamedByVoucher)
export class IsTestNamedByVoucherHandler implements IQueryHandler<IsTestNamedByVoucher> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, testCode }: IsTestNamedByVoucher): Promise<boolean> {
    return (await this.database.queryOne(FIND_NAMING_TEST, [accountCode, testCode])) !== null;
  }
}

@CommandHandler(ReleaseVouchers)
export class ReleaseVouchersHandler implements ICommandHandler<ReleaseVouchers> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ svcEligibilityId }: ReleaseVouchers): Promise<void> {
    await this.unitOfWork.run(async () => {
      const held = await this.database.query<{ voucher_code: string }>(LOCK_HELD, [svcEligibilityId]);
      if (held.length === 0) return;
      await this.database.execute(RELEASE, [svcEligibilityId, held.map((voucher) => voucher.voucher_code)]);
    });
  }
}
