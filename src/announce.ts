import type { Service } from './service.js';

/**
 * Returns the message that announces that the service is ready. It contains the service's addresses and, in the
 * sandbox, an example call that works.
 */
export function announce({ config, metricsUrl, sandbox }: Service): string {
  const line = `Ready: ${config.http.baseUrl} (documents ${config.http.baseUrl}/docs, health ${config.http.baseUrl}/health/ready, metrics ${metricsUrl})\n`;
  if (sandbox === null) return line;
  // The message contains the paths of the files with the credentials, but not the credentials, because the message is
  // stored in logs. Only the owner of the files may read them.
  return `${line}Sandbox: account and credentials are in ${sandbox.file}\nA token:  curl -s -K ${sandbox.curlFile} ${config.http.baseUrl}/token\n`;
}
