import { AlertsConfig } from './alerts/alerts.config.js';
import { AuthConfig } from './auth/auth.config.js';
import { ChangesConfig } from './changes/changes.config.js';
import { NotificationsConfig } from './notifications/notifications.config.js';
import { DatabaseConfig } from './platform/database/database.config.js';
import { ConfigError, EnvironmentReader } from './platform/environment-reader.js';
import { HttpConfig } from './platform/http/http.config.js';
import { ObservabilityConfig } from './platform/observability/observability.config.js';
import { OverloadConfig } from './platform/overload/overload.config.js';
import { ProcessConfig } from './platform/process.config.js';
import { SecretsConfig } from './platform/secrets.config.js';
import { ResultsConfig } from './results/results.config.js';

/**
 * Reads the environment once, and reports the faults of all settings together. Each module declares its own settings in
 * a `*.config.ts` file, and only these settings are injected into the module. docs/configuration.md lists the names and
 * defaults.
 */
export class Config {
  readonly process: ProcessConfig;
  readonly database: DatabaseConfig;
  readonly http: HttpConfig;
  readonly overload: OverloadConfig;
  readonly observability: ObservabilityConfig;
  readonly auth: AuthConfig;
  readonly notifications: NotificationsConfig;
  readonly changes: ChangesConfig;
  readonly results: ResultsConfig;
  readonly alerts: AlertsConfig;
  readonly secrets: SecretsConfig;

  constructor(env: NodeJS.ProcessEnv) {
    const read = new EnvironmentReader(env);
    this.process = new ProcessConfig(read);
    const { sandbox, dataDir } = this.process;
    this.database = new DatabaseConfig(read);
    this.http = new HttpConfig(read, sandbox);
    this.overload = new OverloadConfig(read);
    this.observability = new ObservabilityConfig(read);
    this.auth = new AuthConfig(read);
    this.notifications = new NotificationsConfig(read, sandbox);
    this.changes = new ChangesConfig(read);
    this.results = new ResultsConfig(read);
    this.alerts = new AlertsConfig(read);
    this.secrets = new SecretsConfig(read, sandbox);
    if (read.faults.length > 0) throw new ConfigError(read.faults);
    if (sandbox) this.secrets.useKeyOfSandbox(dataDir);
  }
}
