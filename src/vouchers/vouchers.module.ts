import { Module } from '@nestjs/common';
import { VouchersController } from './vouchers.controller.js';
import { VouchersReader } from './vouchers.reader.js';
import {
  DeleteVoucherHandler,
  FindAppliedVouchersHandler,
  FindVoucherRefusalsHandler,
  IsTestNamedByVoucherHandler,
  FindVouchersOfManyHandler,
  PutVoucherHandler,
  ReleaseVouchersHandler,
  SetVouchersHandler,
} from './vouchers.handlers.js';

/** The vouchers module, which defines vouchers, redeems vouchers for eligibilities, and releases vouchers again. */
@Module({
  controllers: [VouchersController],
  providers: [
    VouchersReader,
    PutVoucherHandler,
    DeleteVoucherHandler,
    SetVouchersHandler,
    ReleaseVouchersHandler,
    FindAppliedVouchersHandler,
    FindVoucherRefusalsHandler,
    IsTestNamedByVoucherHandler,
    FindVouchersOfManyHandler,
  ],
})
export class VouchersModule {}
