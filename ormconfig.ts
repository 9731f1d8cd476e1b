import { DataSource, type DataSourceOptions } from 'typeorm';
import { Accommodation } from './src/accounts/accommodation.entity.js';
import { Account } from './src/accounts/account.entity.js';
import { AttributeKey } from './src/accounts/attribute-key.entity.js';
import { School } from './src/accounts/school.entity.js';
import { TestPortion } from './src/accounts/test-portion.entity.js';
import { Test } from './src/accounts/test.entity.js';
import { Application } from './src/auth/application.entity.js';
import { LoginAttempt, TokenRefusal, TokenRequestCount } from './src/auth/login-attempt.entity.js';
import { FinishedSignIn, OperatorIdentity } from './src/auth/operator-identity.entity.js';
import { TokenFamily, AccessToken, RefreshToken } from './src/auth/token.entity.js';
import { User, UserAccount } from './src/auth/user.entity.js';
import { Booking } from './src/bookings/booking.entity.js';
import { Eligibility } from './src/eligibility/eligibility.entity.js';
import { ImportChunk } from './src/imports/import-chunk.entity.js';
import { ImportTurn } from './src/imports/import-turn.entity.js';
import { Import } from './src/imports/import.entity.js';
import { LaunchKey } from './src/launch/launch-key.entity.js';
import { Launch } from './src/launch/launch.entity.js';
import { Delivery } from './src/notifications/delivery/delivery.entity.js';
import { ErrorQueueCause } from './src/notifications/delivery/error-queue-cause.entity.js';
import { JobItem } from './src/notifications/delivery/job-item.entity.js';
import { JobPart } from './src/notifications/delivery/job-part.entity.js';
import { NotificationAttempt } from './src/notifications/delivery/notification-attempt.entity.js';
import { Notification } from './src/notifications/delivery/notification.entity.js';
import { ErrorQueueCount, ResendItem, ResendJob } from './src/notifications/delivery/release-0-1-0.entity.js';
import { Subscription } from './src/notifications/subscriptions/subscription.entity.js';
import { AuditRow } from './src/platform/audit/audit-row.entity.js';
import { ChangeEpoch, ChangeRow } from './src/platform/changes/change.entity.js';
import { AuditSeal } from './src/platform/audit/audit-seal.entity.js';
import { StoredEventRow } from './src/platform/events/stored-event.entity.js';
import { poolConfig } from './src/platform/database/connections.js';
import { Job } from './src/platform/jobs/job.entity.js';
import { IdempotencyKey } from './src/platform/unit-of-work/idempotency-key.entity.js';
import { AccountResultId } from './src/results/account-result-id.entity.js';
import { RegistrationLocator } from './src/results/registration-locator.entity.js';
import { ResultBytes } from './src/results/result-bytes.entity.js';
import { ResultRevision } from './src/results/result-revision.entity.js';
import { UnmatchedResult } from './src/results/unmatched-result.entity.js';
import { VoucherRedemption } from './src/vouchers/voucher-redemption.entity.js';
import { Voucher } from './src/vouchers/voucher.entity.js';
import { AccountsCatalogue1763640000000 } from './src/migrations/1763640000000-accounts-catalogue.js';
import { AuthUsersApplicationsTokens1763640100000 } from './src/migrations/1763640100000-auth-users-applications-tokens.js';
import { Platform1763640200000 } from './src/migrations/1763640200000-platform.js';
import { Eligibilities1763640300000 } from './src/migrations/1763640300000-eligibilities.js';
import { Bookings1763640400000 } from './src/migrations/1763640400000-bookings.js';
import { Results1763640500000 } from './src/migrations/1763640500000-results.js';
import { Notifications1763640700000 } from './src/migrations/1763640700000-notifications.js';
import { ErrorQueuePage1763640800000 } from './src/migrations/1763640800000-error-queue-page.js';
import { DomainEventsSetAside1763641200000 } from './src/migrations/1763641200000-domain-events-set-aside.js';
import { Jobs1763641300000 } from './src/migrations/1763641300000-jobs.js';
import { DeliveriesJobIndex1763641310000 } from './src/migrations/1763641310000-deliveries-job-index.js';
import { NotificationsCauses1763641320000 } from './src/migrations/1763641320000-notifications-causes.js';
import { NotificationsCauseIndexes1763641330000 } from './src/migrations/1763641330000-notifications-cause-indexes.js';
import { ImportsTables1763641800000 } from './src/migrations/1763641800000-imports-tables.js';
import { Changes1763641700000 } from './src/migrations/1763641700000-changes.js';
import { EligibilitiesExpiry1763641710000 } from './src/migrations/1763641710000-eligibilities-expiry.js';
import { UnmatchedResultsSettledBy1763641720000 } from './src/migrations/1763641720000-unmatched-results-settled-by.js';
import { BookingsCandidate1763641730000 } from './src/migrations/1763641730000-bookings-candidate.js';
import { DeliveriesSuspension1763641210000 } from './src/migrations/1763641210000-deliveries-suspension.js';
import { NotificationsAutoIndex1763642600000 } from './src/migrations/1763642600000-notifications-auto-index.js';
import { SubscriptionsProbeToken1763642100000 } from './src/migrations/1763642100000-subscriptions-probe-token.js';
import { RetentionColumns1763641810000 } from './src/migrations/1763641810000-retention-columns.js';
import { EligibilitiesSearch1763641740000 } from './src/migrations/1763641740000-eligibilities-search.js';
import { AuditLogOrigin1763641600000 } from './src/migrations/1763641600000-audit-log-origin.js';
import { AuditLogAccountIndex1763641600100 } from './src/migrations/1763641600100-audit-log-account-index.js';
import { UsersApplicationsSupport1763641600200 } from './src/migrations/1763641600200-users-applications-support.js';
import { TokenRefusals1763641600300 } from './src/migrations/1763641600300-token-refusals.js';
import { LoginAttemptsKeyIndex1763641600400 } from './src/migrations/1763641600400-login-attempts-key-index.js';
import { LoginAttemptsKey1763641600500 } from './src/migrations/1763641600500-login-attempts-key.js';
import { AuditSeals1763641600600 } from './src/migrations/1763641600600-audit-seals.js';
import { ResultsCredentials1763641600700 } from './src/migrations/1763641600700-results-credentials.js';
import { EligibilitiesListIndexes1763642500000 } from './src/migrations/1763642500000-eligibilities-list-indexes.js';
import { CaseFolding1763642510000 } from './src/migrations/1763642510000-case-folding.js';
import { EligibilitiesCaseFolded1763642520000 } from './src/migrations/1763642520000-eligibilities-case-folded.js';
import { ChangesRecordIndex1763642530000 } from './src/migrations/1763642530000-changes-record-index.js';
import { ResultsMediaIndexes1763642540000 } from './src/migrations/1763642540000-results-media-indexes.js';
import { OperatorIdentities1763642200000 } from './src/migrations/1763642200000-operator-identities.js';
import { RightsEnd1763642210000 } from './src/migrations/1763642210000-rights-end.js';
import { ResultBytes1763642200100 } from './src/migrations/1763642200100-result-bytes.js';
import { ChangeEpochTable1763642800000 } from './src/migrations/1763642800000-change-epoch-table.js';
import { EligibilitiesWaitingIndexes1763643200000 } from './src/migrations/1763643200000-eligibilities-waiting-indexes.js';
import { JobsPausedBy1763643210000 } from './src/migrations/1763643210000-jobs-paused-by.js';
import { UnmatchedResultsRejected1763643220000 } from './src/migrations/1763643220000-unmatched-results-rejected.js';
import { ImportsPosition1763643400000 } from './src/migrations/1763643400000-imports-position.js';
import { Statistics1763643450000 } from './src/migrations/1763643450000-statistics.js';
import { DeliveriesStatistics1763643500000 } from './src/migrations/1763643500000-deliveries-statistics.js';
import { VoucherDecimals1763643600000 } from './src/migrations/1763643600000-voucher-decimals.js';
import { JobItemsSent1763643700000 } from './src/migrations/1763643700000-job-items-sent.js';
import { ResultsRegistrationBodyIndex1763643800000 } from './src/migrations/1763643800000-results-registration-body-index.js';
import { NotificationsQueuePartnerIndex1763643900000 } from './src/migrations/1763643900000-notifications-queue-partner-index.js';

/** Every table's entity. */
const ENTITIES = [
  Accommodation,
  Account,
  AttributeKey,
  School,
  TestPortion,
  Test,
  Application,
  LoginAttempt,
  TokenRefusal,
  TokenRequestCount,
  OperatorIdentity,
  FinishedSignIn,
  TokenFamily,
  AccessToken,
  RefreshToken,
  User,
  UserAccount,
  Booking,
  Eligibility,
  Import,
  ImportChunk,
  ImportTurn,
  LaunchKey,
  Launch,
  Delivery,
  ErrorQueueCause,
  ErrorQueueCount,
  Job,
  JobItem,
  JobPart,
  NotificationAttempt,
  Notification,
  ResendItem,
  ResendJob,
  Subscription,
  AuditRow,
  ChangeEpoch,
  ChangeRow,
  AuditSeal,
  StoredEventRow,
  IdempotencyKey,
  AccountResultId,
  RegistrationLocator,
  ResultBytes,
  ResultRevision,
  UnmatchedResult,
  VoucherRedemption,
  Voucher,
];

/** In the order in which they run. */
const MIGRATIONS = [
  AccountsCatalogue1763640000000,
  AuthUsersApplicationsTokens1763640100000,
  Platform1763640200000,
  Eligibilities1763640300000,
  Bookings1763640400000,
  Results1763640500000,
  Notifications1763640700000,
  ErrorQueuePage1763640800000,
  DomainEventsSetAside1763641200000,
  Jobs1763641300000,
  DeliveriesJobIndex1763641310000,
  NotificationsCauses1763641320000,
  NotificationsCauseIndexes1763641330000,
  ImportsTables1763641800000,
  Changes1763641700000,
  EligibilitiesExpiry1763641710000,
  UnmatchedResultsSettledBy1763641720000,
  BookingsCandidate1763641730000,
  DeliveriesSuspension1763641210000,
  RetentionColumns1763641810000,
  EligibilitiesSearch1763641740000,
  AuditLogOrigin1763641600000,
  AuditLogAccountIndex1763641600100,
  UsersApplicationsSupport1763641600200,
  TokenRefusals1763641600300,
  LoginAttemptsKeyIndex1763641600400,
  LoginAttemptsKey1763641600500,
  AuditSeals1763641600600,
  ResultsCredentials1763641600700,
  SubscriptionsProbeToken1763642100000,
  NotificationsAutoIndex1763642600000,
  EligibilitiesListIndexes1763642500000,
  CaseFolding1763642510000,
  EligibilitiesCaseFolded1763642520000,
  ChangesRecordIndex1763642530000,
  ResultsMediaIndexes1763642540000,
  OperatorIdentities1763642200000,
  RightsEnd1763642210000,
  ResultBytes1763642200100,
  ChangeEpochTable1763642800000,
  EligibilitiesWaitingIndexes1763643200000,
  JobsPausedBy1763643210000,
  UnmatchedResultsRejected1763643220000,
  ImportsPosition1763643400000,
  Statistics1763643450000,
  DeliveriesStatistics1763643500000,
  VoucherDecimals1763643600000,
  JobItemsSent1763643700000,
  ResultsRegistrationBodyIndex1763643800000,
  NotificationsQueuePartnerIndex1763643900000,
];

/**
 * The one definition of the data source: the application connects with it, and so do the migration commands
 * (`npm run migration:run`). The schema is made by migrations alone; entities never synchronise it.
 */
export function dataSourceOptions(url: string, poolSize = 10): DataSourceOptions {
  return {
    type: 'postgres',
    entities: ENTITIES,
    migrations: MIGRATIONS,
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    poolSize,
    extra: { ...poolConfig(url), traced: true },
  };
}

export default new DataSource(dataSourceOptions(process.env['DATABASE_URL'] ?? 'postgres://localhost/postgres'));
