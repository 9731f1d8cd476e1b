/**
 * The baseline: NestJS and TypeORM used as in their manuals. It has Passport's bearer strategy with one token query,
 * `ValidationPipe` with class-validator, and entities fetched by `find` and written by `save` in a transaction.
 * Entities and rows are the service's own. It does less than the service: no school, accommodation or attribute is
 * checked, and there is no request log and no security header.
 */
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Req,
  UseGuards,
  ValidationPipe,
  type INestApplication,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Strategy } from 'passport-http-bearer';
import { DataSource, In } from 'typeorm';
import { dataSourceOptions } from '../src/schema.js';
import { Test } from '../src/accounts/test.entity.js';
import { TestPortion } from '../src/accounts/test-portion.entity.js';
import { Application } from '../src/auth/tokens/application.entity.js';
import { AccessToken, TokenFamily } from '../src/auth/tokens/token.entity.js';
import { User, UserAccount } from '../src/auth/tokens/user.entity.js';
import type { EligibilityResponseModel } from '../src/eligibility/eligibility-model.fields.js';
import { Eligibility } from '../src/eligibility/eligibility.entity.js';
import { presentEligibility } from '../src/eligibility/eligibility-record.js';
import { AuditRow } from '../src/platform/audit/audit-row.entity.js';
import { parseDateTime } from '../src/platform/clock.js';
import { randomCode, sha256 } from '../src/platform/secrets.js';
import type { ServerOptions } from './ceiling.js';
import { PlainBody } from './plain-body.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

@Injectable()
class PlainStrategy extends PassportStrategy(Strategy) {
  constructor(private readonly dataSource: DataSource) {
    super();
  }

  async validate(token: string): Promise<{ username: string } | null> {
    const row = await this.dataSource
      .createQueryBuilder(AccessToken, 'token')
      .innerJoin(TokenFamily, 'family', 'family.family_id = token.family_id')
      .innerJoin(User, 'users', 'users.username = family.username')
      .innerJoin(Application, 'application', 'application.consumer_key = family.consumer_key')
      .innerJoin(UserAccount, 'own', 'own.username = family.username')
      .select('family.username', 'username')
      .where('token.token_hash = :hash', { hash: sha256(token) })
      .andWhere('token.expires_at > now() AND family.revoked_at IS NULL')
      .andWhere('NOT users.disabled AND NOT application.disabled')
      .getRawOne<{ username: string }>();
    return row ?? null;
  }
}

@Controller('accounts/:account/candidates')
@UseGuards(AuthGuard('bearer'))
class PlainController {
  constructor(private readonly dataSource: DataSource) {}

  @Post()
  @HttpCode(200)
  async create(
    @Param('account') account_code: string,
    @Body() body: PlainBody,
    @Req() { user }: { user: { username: string } },
  ): Promise<EligibilityResponseModel> {
    const { test_code, candidate } = body;
    return this.dataSource.transaction(async (manager) => {
      const test = await manager.findOneBy(Test, { account_code, test_code });
      if (!test) throw new BadRequestException('unknown test');
      const portions = await manager.findBy(TestPortion, { account_code, test_code });
      const { candidate_id } = candidate;
      const status = In(['PENDING', 'ELIGIBLE', 'SCHEDULED']);
      if (await manager.findOneBy(Eligibility, { account_code, candidate_id, test_code, status }))
        throw new BadRequestException('duplicate');
      const now = new Date();
      const record = manager.create(Eligibility, {
        ...(candidate as object),
        svc_eligiblity_id: randomCode(8),
        account_code,
        test_code,
        status: 'ELIGIBLE',
        approval_pending: false,
        schedule_start_date: parseDateTime(body.schedule_start_date!),
        eligibility_end_date: parseDateTime(body.eligibility_end_date!),
        registration_mode: body.registration_mode,
        portion_codes: portions.map((portion) => portion.portion_code),
        created_datetime: now,
        updated_datetime: now,
      });
      await manager.save(record);
      await manager.save(
        manager.create(AuditRow, {
          actor: user.username,
          action: 'eligibility.create',
          subject: record.svc_eligiblity_id,
        }),
      );
      return presentEligibility(record, now);
    });
  }

  @Get(':candidate/tests/:test')
  async read(
    @Param('account') account_code: string,
    @Param('candidate') candidate_id: string,
    @Param('test') test_code: string,
  ): Promise<EligibilityResponseModel[]> {
    const records = await this.dataSource.manager.find(Eligibility, {
      where: { account_code, candidate_id, test_code },
      order: { position: 'DESC' },
    });
    if (records.length === 0) throw new NotFoundException();
    const now = new Date();
    return records.map((record) => presentEligibility(record, now));
  }
}

@Module({})
class PlainModule {
  static with(databaseUrl: string) {
    return {
      module: PlainModule,
      imports: [TypeOrmModule.forRoot(dataSourceOptions(databaseUrl)), PassportModule],
      controllers: [PlainController],
      providers: [PlainStrategy],
    };
  }
}

async function main({ databaseUrl }: ServerOptions): Promise<void> {
  const app = await NestFactory.create<INestApplication>(PlainModule.with(databaseUrl), { logger: ['error'] });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  tell({ ready: { url: `http://127.0.0.1:${port}` } });
}

endWithOrchestrator();
main(programOptions<ServerOptions>()).catch((error: unknown) => tell({ error: String(error) }));
