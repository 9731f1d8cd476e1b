import { Controller, Get, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Readiness } from '../observability/readiness.js';
import { text } from '../validation/rules.js';
import { Access } from './access.js';

const HEALTH = { type: 'object', required: ['status'], properties: { status: { type: 'string', enum: ['ok'] } } };

const part = (description: string) => ({ ...text({ min: 1, max: 50 }).schema, description });

const READINESS = {
  type: 'object',
  required: ['status', 'parts'],
  properties: {
    status: { type: 'string', enum: ['ok', 'unavailable'] },
    parts: {
      type: 'object',
      description:
        'The state of each part by its name: `ok`, or one word that names the problem. Later releases may add parts.',
      properties: {
        database: part('Whether the database is reachable and writable.'),
        migrations: part('Whether the schema matches this release.'),
        process: part('`starting` or `stopping`; missing while the process works.'),
        'delivery loop': part('`stalled` when no sweep succeeded for 30 s; only in a process that delivers.'),
        deliveries: part(
          '`overdue` when a booking event has had no notifications for a minute; only in a process that delivers.',
        ),
      },
    },
  },
};

@ApiTags('Health')
@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('live')
  @Access('public')
  @ApiOperation({ summary: 'Check that the process is running' })
  @ApiResponse({ status: 200, description: 'The process is running.', schema: HEALTH })
  live(): { status: string } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Access('public')
  @ApiOperation({ summary: 'Check that the process can handle requests' })
  @ApiResponse({ status: 200, description: 'The process can handle requests.', schema: READINESS })
  @ApiResponse({ status: 503, description: 'A part is down, or the process is stopping.', schema: READINESS })
  async ready(@Res({ passthrough: true }) response: Response): Promise<object> {
    const { ready, parts } = await this.readiness.report();
    response.status(ready ? 200 : 503);
    return { status: ready ? 'ok' : 'unavailable', parts };
  }
}
