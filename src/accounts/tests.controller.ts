import { Body, Controller, Delete, Get, Param, Put, Query, Res } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { Answer, AnswerEmpty, AnswerList, BodyProblems, Problems } from '../platform/http/documented.js';
import { PageQuery, pageOf, sendPage } from '../platform/http/paging.js';
import { AccountPath } from '../platform/validation/identifiers.js';
import { DeleteTest, PutTest, type RetakePolicy, type TestDefinition } from './accounts.commands.js';
import { TestBody, TestModel, TestPath } from './accounts.dto.js';
import { AccountsReader, type TestWithPortions } from './accounts.reader.js';
import { warningsOf } from './portable-codes.js';

@ApiTags('Administration')
@Access('admin')
@Controller('admin/accounts/:account_code/tests')
export class TestsController {
  constructor(
    private readonly reader: AccountsReader,
    private readonly commandBus: CommandBus,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the tests of an account' })
  @AnswerList(TestModel)
  @Problems(400)
  async list(
    @Param() { account_code }: AccountPath,
    @Query() query: PageQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TestModel[]> {
    const page = pageOf(query);
    const rows = await this.reader.tests(account_code, page);
    return sendPage(rows, page, response).map(present);
  }

  @Get(':test_code')
  @ApiOperation({ summary: 'Read a test' })
  @Answer(200, TestModel)
  @Problems(400, 404)
  async get(@Param() { account_code, test_code }: TestPath): Promise<TestModel> {
    const test = await this.reader.findTest(account_code, test_code);
    if (!test) throw notFound.error();
    return present(test);
  }

  @Put(':test_code')
  @ApiOperation({
    summary: 'Create a test or replace its definition',
    description: 'A portion that an open eligibility contains cannot be removed (403 `forbidden_operation`).',
  })
  @Answer(200, TestModel)
  @BodyProblems()
  async put(@Param() { account_code, test_code }: TestPath, @Body() body: TestBody): Promise<TestModel> {
    const definition: TestDefinition = {
      name: body.name,
      exam_code: body.exam_code ?? null,
      launch_url: body.launch_url ?? null,
      duration_minutes: body.duration_minutes ?? null,
      change_cutoff_hours: body.change_cutoff_hours ?? null,
      launch_minutes_before: body.launch_minutes_before ?? null,
      retake: retakeOf(body),
      portions: body.portions.map(({ portion_code, portion_name }) => ({
        portion_code,
        portion_name: portion_name ?? null,
      })),
    };
    await this.commandBus.execute(new PutTest(account_code, test_code, definition));
    return shown({ account_code, test_code, ...definition });
  }

  @Delete(':test_code')
  @ApiOperation({
    summary: 'Delete a test',
    description:
      'A test cannot be deleted after an eligibility was created for it, or while a voucher names it (403 `forbidden_operation`).',
  })
  @AnswerEmpty(204)
  @Problems(400, 404)
  async delete(@Param() { account_code, test_code }: TestPath): Promise<void> {
    await this.commandBus.execute(new DeleteTest(account_code, test_code));
  }
}

/** Returns the retake policy in the request body without empty members; null if the policy sets no limit. */
function retakeOf({ retake }: TestBody): RetakePolicy | null {
  const limits = Object.entries(retake ?? {}).filter(([, limit]) => limit != null);
  return limits.length === 0 ? null : Object.fromEntries(limits);
}

function present({ position: _, ...test }: Omit<TestWithPortions, 'position'> & { position?: number }): TestModel {
  return shown(test);
}

/** Returns the test as responses show it, with every member of its retake policy. */
function shown(test: Omit<TestModel, 'warnings'> & TestDefinition): TestModel {
  const { retake } = test;
  return { ...test, retake: retake && { ...NO_LIMITS, ...retake }, warnings: warningsOf(test) };
}

const NO_LIMITS: RetakePolicy = { wait_days: null, max_attempts: null, period_days: null };
