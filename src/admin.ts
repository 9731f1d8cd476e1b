import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { runAdminCommand } from './admin-cli.js';
import { Config } from './config.js';
import { ConfigError } from './platform/environment-reader.js';
import { assertSandboxFits } from './sandbox-database.js';
import { installClock } from './sandbox/clock-schema.js';
import { openDatabase } from './service.js';
import { migrate } from './platform/database/migrate.js';

/** Runs the command line for operators: `npm run admin -- …`. */
async function main(): Promise<number> {
  const config = new Config({ ...process.env, LOG_LEVEL: 'silent', ROLES: 'api' });
  const database = await openDatabase(config, (error) => {
    throw error;
  });
  try {
    await assertSandboxFits(config, database.url);
    await migrate(database.url, { waitS: config.database.migrationWaitS });
    if (config.process.sandbox) await installClock(database.url);
    const app = await NestFactory.createApplicationContext(AppModule.with(config, database.url), { logger: false });
    try {
      return await runAdminCommand(process.argv.slice(2), app);
    } finally {
      await app.close();
    }
  } finally {
    await database.close();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (error instanceof ConfigError) for (const fault of error.faults) process.stderr.write(`${fault}\n`);
    else process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
