import { Module } from '@nestjs/common';
import { ExportController } from './export.controller.js';
import { ImportPersonalData } from './import-personal-data.js';
import { ImportReception } from './import-reception.js';
import { ImportStore } from './import-store.js';
import { ImportWorker } from './import-worker.js';
import { ImportsController } from './imports.controller.js';
import { RowWork } from './row-work.js';

/** Eligibilities in bulk: files in, and a file out. */
@Module({
  controllers: [ImportsController, ExportController],
  providers: [ImportReception, ImportStore, ImportWorker, RowWork, ImportPersonalData],
})
export class ImportsModule {}
