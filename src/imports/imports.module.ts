import { Module } from '@nestjs/common';
import { StreamedIdempotency } from '../platform/unit-of-work/idempotency.js';
import { ExportController } from './export.controller.js';
import { ImportPersonalData } from './import-personal-data.js';
import { ImportEndings } from './import-endings.js';
import { ImportReception } from './import-reception.js';
import { ImportList, MarkImportsHandler } from './import-list.js';
import { ImportStore } from './import-store.js';
import { ImportWorker } from './import-worker.js';
import { ImportsController } from './imports.controller.js';
import { OperatorImportsController } from './operator-imports.controller.js';
import { RowWork } from './row-work.js';

/** The imports module, which imports and exports eligibilities in bulk, as files. */
@Module({
  controllers: [ImportsController, OperatorImportsController, ExportController],
  providers: [
    ImportReception,
    StreamedIdempotency,
    ImportStore,
    ImportEndings,
    ImportWorker,
    RowWork,
    ImportPersonalData,
    ImportList,
    MarkImportsHandler,
  ],
})
export class ImportsModule {}
