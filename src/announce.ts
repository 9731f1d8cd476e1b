import type { Service } from './service.js';

/**
 * Returns the message that announces a ready service: its addresses and, in the sandbox, an example call that works.
 */
export function announce({ config, metricsUrl, sandbox }: Service): string {
  const line = `Ready: ${config.http.baseUrl} (documents ${config.http.baseUrl}/docs, health ${config.http.baseUrl}/health/ready, metrics ${metricsUrl})\n`;
  if (sandbox === null) return line;
  // The message names files instead of the credentials, because it is stored in logs. Only the files' owner may read
  // them.
  return `${line}Sandbox: account and credentials are in ${sandbox.file}\nA token:  curl -s -K ${sandbox.curlFile} ${config.http.baseUrl}/token\n`;
}
