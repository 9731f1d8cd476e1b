import { Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { StreamedBody } from '../platform/http/body.js';
import { Answer, AnswerList, BodyProblems, IdempotencyHeader, Problems } from '../platform/http/documented.js';
import { pageOf, sendPage } from '../platform/http/paging.js';
import { ChecksHeaders } from '../platform/http/request-form.js';
import { keyFaults } from '../platform/unit-of-work/idempotency.js';
import { CsvAnswer, sendCsv } from './csv-answer.js';
import { ImportEndings } from './import-endings.js';
import { ImportList } from './import-list.js';
import { ImportReception } from './import-reception.js';
import { ImportStore } from './import-store.js';
import { ImportWorker } from './import-worker.js';
import type { Import } from './import.entity.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import {
  ImportAnswer,
  ImportModel,
  ImportPath,
  ImportQuery,
  ListedImportModel,
  OwnImportsQuery,
  presentImport,
  presentListed,
  ReportQuery,
} from './imports.dto.js';
import { MOST_BYTES, type Outcome } from './imports.rules.js';
import { emptyLine, endingLine, reportHead, reportLines } from './report.js';

const CHUNKS_AT_ONCE = 20;

@ApiTags('Import and export')
@Controller('accounts/:account_code/eligibility-imports')
export class ImportsController {
  constructor(
    private readonly reception: ImportReception,
    private readonly store: ImportStore,
    private readonly worker: ImportWorker,
    private readonly endings: ImportEndings,
    private readonly imports: ImportList,
  ) {}

  @Post()
  @Access('create')
  @StreamedBody()
  @ApiOperation({ summary: 'Import eligibilities from a file' })
  @ApiConsumes('text/csv', 'application/x-ndjson')
  @ApiBody({
    schema: { type: 'string', maxLength: MOST_BYTES },
    description:
      'CSV: columns named as the members of the Eligibility Model (`candidate.first_name` or `first_name`), `attributes.KEY` ' +
      'for an attribute, `;` between the entries of a list. NDJSON: on each line an Eligibility Model. Both may have ' +
      '`action`: ADD (default), UPDATE, CANCEL.',
  })
  @Answer(202, ImportAnswer, 'The file was received and is processed in the background.')
  @BodyProblems(408, 409, 422)
  @ChecksHeaders(keyFaults)
  @IdempotencyHeader()
  async create(
    @Param() { account_code }: AccountPath,
    @Query() query: ImportQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ImportAnswer> {
    const { import_id, isReplay } = await this.reception.receive(account_code, query, request, response);
    if (isReplay) response.setHeader('Idempotency-Replayed', 'true');
    else void this.worker.poll();
    return { import_id };
  }

  @Get()
  @Access('read')
  @ApiOperation({ summary: 'List the imports of the account' })
  @AnswerList(ListedImportModel)
  @Problems(400)
  async list(
    @Param() { account_code }: AccountPath,
    @Query() query: OwnImportsQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ListedImportModel[]> {
    const page = pageOf(query);
    const rows = await this.imports.list([account_code], query.state ?? null, page);
    return sendPage(rows, page, response).map(presentListed);
  }

  @Get(':import_id')
  @Access('read')
  @ApiOperation({ summary: 'Read the progress of an import' })
  @Answer(200, ListedImportModel)
  @Problems(400, 404)
  async get(@Param() path: ImportPath): Promise<ListedImportModel> {
    return presentListed(await this.find(path));
  }

  @Get(':import_id/report')
  @Access('read')
  @ApiOperation({ summary: 'Read the report of an import' })
  @CsvAnswer(
    'Row number (from 1, without the header), outcome, code, pointer and detail. The other columns identify the ' +
      'place: line of the file, candidate_id, test_code, id of the existing record, name of the column, and original ' +
      'value. If an import ended early, the last line has the outcome NOT_DONE, the first row that was not processed, ' +
      'and the reason.',
  )
  @Problems(400, 404)
  async report(@Param() path: ImportPath, @Query() { outcome }: ReportQuery, @Res() response: Response): Promise<void> {
    const found = await this.find(path);
    await sendCsv(response, `import-${found.import_id}.csv`, this.lines(found, outcome));
  }

  @Post(':import_id/abort')
  @Access('create')
  @ApiOperation({ summary: 'Abort an import' })
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

  private async *lines(
    { import_id: importId, done, rows, columns, ending, dry_run }: Import,
    only: Outcome | undefined,
  ): AsyncIterable<string> {
    yield reportHead();
    for (let after = -1; ;) {
      const chunks = await this.store.outcomes(importId, after, CHUNKS_AT_ONCE);
      if (chunks.length === 0) break;
      yield chunks.map(({ first_row, outcomes }) => reportLines(first_row, outcomes, dry_run, only)).join('');
      after = chunks.at(-1)!.chunk;
    }
    if (only !== undefined) return;
    if (ending !== null) yield endingLine(done + 1, ending);
    else if (columns !== null && rows === 0) yield emptyLine();
  }
}
