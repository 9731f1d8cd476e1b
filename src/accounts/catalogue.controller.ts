import { Body, Controller, Delete, Get, Injectable, Param, Put, Query, Res, type Type } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { instanceToPlain } from 'class-transformer';
import type { Response } from 'express';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { DeleteCatalogueEntry, PutCatalogueEntry, type CatalogueKind } from './accounts.commands.js';
import {
  AccommodationBody,
  AccommodationModel,
  AttributeKeyBody,
  AttributeKeyModel,
  EntryPath,
  SchoolBody,
  SchoolModel,
} from './accounts.dto.js';
import { AccountsReader } from './accounts.reader.js';
import type { CatalogueEntries } from './catalogue.js';

/**
 * Builds the routes that all simple kinds of catalogue entries share: list, get and delete. The controller of each kind
 * adds its path and its PUT route, because the bodies of the PUT requests differ.
 *
 * @param one the singular name of an entry in the summaries of the routes; `many` is the plural
 */
function CatalogueController<Kind extends CatalogueKind>(kind: Kind, model: Type, one: string, many: string) {
  type Entry = Omit<CatalogueEntries[Kind], 'position'>;

  @Injectable()
  abstract class Routes {
    constructor(
      readonly reader: AccountsReader,
      readonly commandBus: CommandBus,
    ) {}

    @Get()
    @ApiOperation({ summary: `List the ${many} of an account` })
    @AnswerList(model)
    @Problems(400)
    async list(
      @Param() { account_code }: AccountPath,
      @Query() query: PageQuery,
      @Res({ passthrough: true }) response: Response,
    ): Promise<Entry[]> {
      const page = pageOf(query);
      const rows = await this.reader.entries(kind, account_code, page);
      return instanceToPlain(sendPage(rows, page, response)) as Entry[];
    }

    @Get(':code')
    @ApiOperation({ summary: `Read ${one}` })
    @Answer(200, model)
    @Problems(400, 404)
    async get(@Param() { account_code, code }: EntryPath): Promise<Entry> {
      const row = await this.reader.findEntry(kind, account_code, code);
      if (!row) throw notFound.error();
      return instanceToPlain(row) as Entry;
    }

    @Delete(':code')
    @ApiOperation({
      summary: `Delete ${one}`,
      description: 'The entry cannot be deleted while eligibilities use it (403 `forbidden_operation`).',
    })
    @AnswerEmpty(204)
    @Problems(400, 404)
    async delete(@Param() { account_code, code }: EntryPath): Promise<void> {
      await this.commandBus.execute(new DeleteCatalogueEntry(kind, account_code, code));
    }
  }
  return Routes;
}

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts/:account_code/schools')
export class SchoolsController extends CatalogueController('school', SchoolModel, 'a school', 'schools') {
  @Put(':code')
  @ApiOperation({ summary: 'Create a school or replace its definition' })
  @Answer(200, SchoolModel)
  @BodyProblems()
  async put(@Param() { account_code, code }: EntryPath, @Body() { name }: SchoolBody): Promise<SchoolModel> {
    await this.commandBus.execute(new PutCatalogueEntry('school', account_code, code, { name }));
    return { account_code, school_code: code, name };
  }
}

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts/:account_code/accommodations')
export class AccommodationsController extends CatalogueController(
  'accommodation',
  AccommodationModel,
  'an accommodation',
  'accommodations',
) {
  @Put(':code')
  @ApiOperation({ summary: 'Create an accommodation or replace its definition' })
  @Answer(200, AccommodationModel)
  @BodyProblems()
  async put(
    @Param() { account_code, code }: EntryPath,
    @Body() { name, requires_approval }: AccommodationBody,
  ): Promise<AccommodationModel> {
    await this.commandBus.execute(
      new PutCatalogueEntry('accommodation', account_code, code, { name, requires_approval }),
    );
    return { account_code, accommodation_code: code, name, requires_approval };
  }
}

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts/:account_code/attribute-keys')
export class AttributeKeysController extends CatalogueController(
  'attribute-key',
  AttributeKeyModel,
  'an attribute key',
  'attribute keys',
) {
  @Put(':code')
  @ApiOperation({ summary: 'Create an attribute key or replace its definition' })
  @Answer(200, AttributeKeyModel)
  @BodyProblems()
  async put(
    @Param() { account_code, code }: EntryPath,
    @Body() { name }: AttributeKeyBody,
  ): Promise<AttributeKeyModel> {
    await this.commandBus.execute(new PutCatalogueEntry('attribute-key', account_code, code, { name }));
    return { account_code, attribute_key: code, name };
  }
}
