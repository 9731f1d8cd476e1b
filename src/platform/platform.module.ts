import { Global, Module } from '@nestjs/common';
import { APP_FILTER, DiscoveryModule } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { AuditController } from './audit/audit.controller.js';
import { AuditMetrics } from './audit/audit-metrics.js';
import { AuditReader } from './audit/audit.reader.js';
import { AuditSeals } from './audit/audit-seals.js';
import { Clock } from './clock.js';
import { Database } from './database/database.js';
import { DatabaseMetrics } from './database/database-metrics.js';
import { EncryptedColumns } from './database/encrypted-columns.js';
import { DatabaseReadiness } from './database/database-readiness.js';
import { Hints } from './unit-of-work/hints.js';
import { UnitOfWork } from './unit-of-work/unit-of-work.js';
import { Jobs } from './jobs/jobs.js';
import { Outbox } from './events/outbox.js';
import { Housekeeping } from './housekeeping.js';
import { HealthController } from './http/health.controller.js';
import { BodyPace } from './overload/body-pace.js';
import { BodyGate } from './http/body.js';
import { ProblemFilter } from './http/problem.filter.js';
import { ProblemsController } from './http/problems.controller.js';
import { AddressLimit } from './overload/address-limit.js';
import { RequestMetrics } from './http/request-metrics.js';
import { RateLimit } from './overload/rate-limit.js';
import { RequestForm } from './http/request-form.js';
import { LookController } from './http/look.controller.js';
import { RootController } from './http/root.controller.js';
import { Metrics } from './observability/metrics.js';
import { Readiness } from './observability/readiness.js';
import { TracingShutdown } from './observability/tracing.js';
import { PersonalDataHolders } from './personal-data.js';
import { PlatformPersonalData } from './platform-personal-data.js';
import { Secrets } from './secrets.js';
import { SigningKeys } from './signing-keys/signing-keys.js';
import { Logger } from './observability/logger.js';

const ground = [
  EncryptedColumns,
  Clock,
  Logger,
  Secrets,
  SigningKeys,
  Database,
  DatabaseMetrics,
  UnitOfWork,
  Hints,
  Jobs,
  Outbox,
  RateLimit,
  AddressLimit,
  BodyPace,
  Readiness,
  Metrics,
  PersonalDataHolders,
  AuditReader,
];

/** The base module. Every module imports it, and it imports no other module of the service. */
@Global()
@Module({
  imports: [CqrsModule, DiscoveryModule],
  controllers: [RootController, LookController, HealthController, ProblemsController, AuditController],
  providers: [
    ...ground,
    AuditSeals,
    AuditMetrics,
    TracingShutdown,
    DatabaseReadiness,
    Housekeeping,
    PlatformPersonalData,
    BodyGate,
    RequestMetrics,
    { provide: APP_FILTER, useClass: ProblemFilter },
    RequestForm,
  ],
  exports: [...ground, CqrsModule, DiscoveryModule],
})
export class PlatformModule {}
