import { Controller, Get, Param } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import { notFound, problemCatalogue, type Problem } from '../errors.js';
import { Access } from './access.js';
import { PublicProblems } from './documented.js';
import { statusOf } from './problem.filter.js';

const ENTRY = {
  type: 'object',
  required: ['code', 'status', 'title', 'description'],
  properties: {
    code: { type: 'string' },
    status: { type: 'integer' },
    title: { type: 'string' },
    description: { type: 'string' },
  },
};

/** The error catalogue: what the `type` of every problem document points to. */
@ApiTags('Errors')
@Controller('problems')
export class ProblemsController {
  @Get()
  @Access('public')
  @ApiOperation({ summary: 'Every problem that this service answers with' })
  @ApiResponse({ status: 200, description: 'The catalogue.', schema: { type: 'array', items: ENTRY } })
  @PublicProblems()
  list(): object[] {
    return problemCatalogue().map(entry);
  }

  @Get(':code')
  @Access('public')
  @ApiOperation({ summary: 'What one problem means' })
  @ApiParam({ name: 'code', schema: { type: 'string' }, example: 'validation_error' })
  @ApiResponse({ status: 200, description: 'The entry.', schema: ENTRY })
  @PublicProblems(404)
  get(@Param('code') code: string): object {
    const problem = problemCatalogue().find((candidate) => candidate.code === code);
    if (!problem) throw notFound.error();
    return entry(problem);
  }
}

function entry({ code, kind, title, description }: Problem): object {
  return { code, status: statusOf(kind), title, description };
}
