import './platform/heap.js';
import 'reflect-metadata';
import { Config } from './config.js';
import { ConfigError } from './platform/environment-reader.js';
import { startService } from './service.js';
import { announce } from './announce.js';

async function main(): Promise<void> {
  const service = await startService(new Config(process.env), (error) => {
    process.stderr.write(`The connection to the database was lost: ${error.message}\n`);
    process.exit(1);
  });
  process.stdout.write(announce(service));
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => fail(error),
      );
    });
}

function fail(error: unknown): never {
  const { syscall, code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (error instanceof ConfigError) for (const fault of error.faults) process.stderr.write(`${fault}\n`);
  else if (syscall === 'listen')
    process.stderr.write(
      `${address}:${port} is not available (${code}): set HOST and PORT, or METRICS_HOST and METRICS_PORT.\n`,
    );
  else process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

main().catch(fail);
