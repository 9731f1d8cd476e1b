import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { dataSourceOptions } from './schema.js';
import { AccountsModule } from './accounts/accounts.module.js';
import { AlertsModule } from './alerts/alerts.module.js';
import { AuthModule } from './auth/auth.module.js';
import { BookingsModule } from './bookings/bookings.module.js';
import { ChangesModule } from './changes/changes.module.js';
import { Config } from './config.js';
import { ConsoleModule } from './console/console.module.js';
import { GuideModule } from './guide/guide.module.js';
import { EligibilityModule } from './eligibility/eligibility.module.js';
import { ImportsModule } from './imports/imports.module.js';
import { LaunchModule } from './launch/launch.module.js';
import { NotificationsModule } from './notifications/notifications.module.js';
import { connectionsFor } from './platform/database/connections.js';
import { PlatformModule } from './platform/platform.module.js';
import { PrivacyModule } from './privacy/privacy.module.js';
import { ResultsModule } from './results/results.module.js';
import { SandboxModule } from './sandbox/sandbox.module.js';
import { VouchersModule } from './vouchers/vouchers.module.js';

/** Combines all modules into the application. No other file imports module classes. */
@Module({})
export class AppModule {
  static with(config: Config, databaseUrl: string): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        TypeOrmModule.forRoot({
          ...dataSourceOptions(databaseUrl, connectionsFor(config.database.poolSize).unitsOfWork),
          // A few attempts to connect to the database suffice. The migrations have just used the database, so a failure
          // is probably temporary.
          retryAttempts: 3,
          retryDelay: 500,
        }),
        ScheduleModule.forRoot(),
        PlatformModule,
        NotificationsModule,
        AuthModule,
        AccountsModule,
        VouchersModule,
        EligibilityModule,
        LaunchModule,
        BookingsModule,
        ResultsModule,
        ImportsModule,
        ChangesModule,
        PrivacyModule,
        AlertsModule,
        ConsoleModule,
        GuideModule,
        ...(config.process.sandbox ? [SandboxModule] : []),
      ],
    };
  }
}

@Module({})
class ConfigModule {
  static with(config: Config): DynamicModule {
    const providers = Object.values<object>({ ...config }).map((part) => ({
      provide: part.constructor,
      useValue: part,
    }));
    return {
      module: ConfigModule,
      global: true,
      providers,
      exports: providers,
    };
  }
}
