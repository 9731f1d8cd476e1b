import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Config } from './config.js';
import { openApiDocument } from './openapi/document.js';
import { catalogueMarkdown } from './platform/http/problem-catalogue.js';
import { startService } from './service.js';

/** Writes docs/openapi.json and docs/problems.md from the code. Tests fail if these files are outdated. */
async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'openapi-'));
  const config = new Config({
    DATA_DIR: dataDir,
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'silent',
    SANDBOX: 'false',
    SECRETS_KEY: randomBytes(32).toString('base64'),
  });
  const service = await startService(config, (error) => {
    throw error;
  });
  writeFileSync('docs/openapi.json', JSON.stringify(openApiDocument(service.app, config), null, 2) + '\n');
  writeFileSync('docs/problems.md', catalogueMarkdown());
  await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

void main();
