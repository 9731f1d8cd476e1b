import type { Service } from './service.js';

/** Returns the message for a ready service: its addresses, and in the sandbox a working call. */
export function announce({ config, metricsUrl, sandbox }: Service): string {
  const line = `Ready: ${config.baseUrl} (documents ${config.baseUrl}/docs, health ${config.baseUrl}/health/ready, metrics ${metricsUrl})\n`;
  if (sandbox === null) return line;
  // The credentials stay in files that only their owner may read, because this line is stored in logs.
  return `${line}Sandbox: account and credentials are in ${sandbox.file}\nA token:  curl -s -K ${sandbox.curlFile} ${config.baseUrl}/token\n`;
}
