import type { INestApplicationContext } from '@nestjs/common';
import type { Config } from './config.js';
export interface Sandbox {
  file: string;
  curlFile: string;
}
export async function ensureSandbox(_app: INestApplicationContext, _config: Config): Promise<Sandbox | null> {
  return null;
}
