import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { StreamedBody } from '../platform/http/body.js';
import { Answer, BodyProblems, Problems } from '../platform/http/documented.js';
import { CsvAnswer, sendCsv } from './csv-answer.js';
import { writeLine } from './csv-cell.js';
import { ImportEndings } from './import-endings.js';
import { ImportReception } from './import-reception.js';
import { ImportStore } from './import-store.js';
import { ImportWorker } from './import-worker.js';
import type { Import } from './import.entity.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { ImportAnswer, ImportModel, ImportPath, ImportQuery, presentImport } from './imports.dto.js';
import type { Ending, RowOutcome } from './imports.rules.js';

const CHUNKS_AT_ONCE = 20;

@ApiTags('Import and export')
@Controller('accounts/:account_code/eligibility-imports')
export class ImportsController {
  constructor(
    private readonly reception: ImportReception,
    private readonly store: ImportStore,
    private readonly worker: ImportWorker,
    private readonly endings: ImportEndings,
  ) {}

  @Post()
  @HttpCode(202)
  @Access('create')
  @StreamedBody()
  @ApiOperation({ summary: 'Import eligibilities: up to 1,000,000 rows or 512 MiB' })
  @ApiConsumes('text/csv', 'application/x-ndjson')
  @ApiBody({
    schema: { type: 'string' },
    description:
      'CSV: columns named as the members of the Eligibility Model (`candidate.first_name` or `first_name`), `attributes.KEY` ' +
      'for an attribute, `;` between the entries of a list. NDJSON: on each line an Eligibility Model. Both may have ' +
      '`action`: ADD (default), UPDATE, CANCEL.',
  })
  @Answer(202, ImportAnswer, 'The rows are received, and will be done in the background.')
  @BodyProblems(408)
  async create(
    @Param() { account_code }: AccountPath,
    @Query() { dry_run }: ImportQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ImportAnswer> {
    const import_id = await this.reception.receive(account_code, dry_run === 'true', request, response);
    void this.worker.look();
    return { import_id };
  }

  @Get(':import_id')
  @Access('read')
  @ApiOperation({ summary: 'How far an import is' })
  @Answer(200, ImportModel)
  @Problems(400, 404)
  async get(@Param() path: ImportPath): Promise<ImportModel> {
    return presentImport(await this.find(path));
  }

  @Get(':import_id/report')
  @Access('read')
  @ApiOperation({ summary: 'What became of each row that is done; a refused row has one line for each fault' })
  @CsvAnswer(
    'Row number (from 1, the header not counted), outcome, code, pointer, detail. Of an import that ended early the last line has the outcome NOT_DONE, the first row that was not done, and why.',
  )
  @Problems(400, 404)
  async report(@Param() path: ImportPath, @Res() response: Response): Promise<void> {
    const found = await this.find(path);
    await sendCsv(response, `import-${found.import_id}.csv`, this.lines(found));
  }

  @Post(':import_id/abort')
  @HttpCode(200)
  @Access('create')
  @ApiOperation({ summary: 'End it; rows that are done stay done' })
  @Answer(200, ImportModel)
  @Problems(400, 404, 409)
  async abort(@Param() path: ImportPath): Promise<ImportModel> {
    await this.find(path);
    return presentImport(await this.endings.abort(path.import_id, 'ABORTED'));
  }

  private async find({ account_code, import_id }: ImportPath): Promise<Import> {
    const found = await this.store.find(account_code, import_id);
    if (found === null) throw notFound.error({ detail: 'There is no such import.' });
    return found;
  }

  private async *lines({ import_id: importId, done, ending }: Import): AsyncIterable<string> {
    yield writeLine(['row', 'outcome', 'code', 'pointer', 'detail']);
    for (let after = -1; ;) {
      const chunks = await this.store.outcomes(importId, after, CHUNKS_AT_ONCE);
      if (chunks.length === 0) break;
      yield chunks.map(({ first_row, outcomes }) => linesOf(first_row, outcomes)).join('');
      after = chunks.at(-1)!.chunk;
    }
    if (ending !== null) yield endingLine(done + 1, ending);
  }
}

function linesOf(firstRow: number, outcomes: readonly RowOutcome[]): string {
  return outcomes
    .flatMap(([outcome, faults], index) => {
      const row = String(firstRow + index);
      if (faults === undefined) return [writeLine([row, outcome, '', '', ''])];
      return faults.map(({ code, pointer = '', detail }) => writeLine([row, outcome, code, pointer, detail]));
    })
    .join('');
}

const WHY: Record<Ending, { code: string; detail: string }> = {
  ABORTED: { code: 'import_aborted', detail: 'The import was aborted' },
  ABORTED_BY_OPERATOR: { code: 'import_aborted_by_operator', detail: 'An operator aborted the import' },
  ACCESS_LOST: {
    code: 'import_access_lost',
    detail: 'The user or the application that sent the import was disabled, or lost the scope create or the account',
  },
  BODY_LOST: { code: 'import_body_lost', detail: 'The body of the import did not arrive' },
};

/** What the report says of all rows that an import left. */
function endingLine(row: number, ending: Ending): string {
  const { code, detail } = WHY[ending];
  return writeLine([String(row), 'NOT_DONE', code, '', `${detail}: this row and all after it were not done.`]);
}
