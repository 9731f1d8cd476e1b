import type { DataSourceOptions } from 'typeorm';
import { Accommodation } from './accounts/accommodation.entity.js';
import { Account } from './accounts/account.entity.js';
import { AttributeKey } from './accounts/attribute-key.entity.js';
import { School } from './accounts/school.entity.js';
import { TestPortion } from './accounts/test-portion.entity.js';
import { Test } from './accounts/test.entity.js';
import { AlertMessage } from './alerts/alert-message.entity.js';
import { AlertOccurrence } from './alerts/alert-occurrence.entity.js';
import { Alert } from './alerts/alert.entity.js';
import { Application } from './auth/tokens/application.entity.js';
import { LoginAttempt, TokenRefusal, TokenRequestCount } from './auth/tokens/login-attempt.entity.js';
import { FinishedSignIn, OperatorIdentity } from './auth/administration/operator-identity.entity.js';
import { TokenFamily, AccessToken, RefreshToken } from './auth/tokens/token.entity.js';
import { User, UserAccount } from './auth/tokens/user.entity.js';
import { Booking } from './bookings/booking.entity.js';
import { Eligibility } from './eligibility/eligibility.entity.js';
import { ExpiryNotice } from './eligibility/expiry-notice.entity.js';
import { SearchKey } from './eligibility/search-key.entity.js';
import { ImportChunk } from './imports/import-chunk.entity.js';
import { ImportTurn } from './imports/import-turn.entity.js';
import { Import } from './imports/import.entity.js';
import { Launch } from './launch/launch.entity.js';
import { Delivery } from './notifications/delivery/delivery.entity.js';
import { ErrorQueueCause } from './notifications/delivery/error-queue-cause.entity.js';
import { JobItem } from './notifications/delivery/job-item.entity.js';
import { JobPart } from './notifications/delivery/job-part.entity.js';
import { NotificationAttempt } from './notifications/delivery/notification-attempt.entity.js';
import {
  DeliveredDigest,
  DigestBackfill,
  DigestBucket,
  DigestChange,
} from './notifications/delivery/digest.entities.js';
import { Notification } from './notifications/delivery/notification.entity.js';
import { PollOffer } from './notifications/delivery/poll-offer.entity.js';
import { Subscription } from './notifications/subscriptions/subscription.entity.js';
import { AuditRow } from './platform/audit/audit-row.entity.js';
import { EventListener, EventStream } from './platform/changes/event-listener.entity.js';
import { ChangeEpoch, ChangeRow } from './platform/changes/change.entity.js';
import { AuditSeal } from './platform/audit/audit-seal.entity.js';
import { StoredEventRow } from './platform/events/stored-event.entity.js';
import { poolConfig } from './platform/database/connections.js';
import { Job } from './platform/jobs/job.entity.js';
import { SigningKey } from './platform/signing-keys/signing-key.entity.js';
import { IdempotencyKey } from './platform/unit-of-work/idempotency-key.entity.js';
import { AccountResultId } from './results/records/account-result-id.entity.js';
import { RegistrationLocator } from './results/records/registration-locator.entity.js';
import { ResultBytes } from './results/records/result-bytes.entity.js';
import { ResultRevision } from './results/records/result-revision.entity.js';
import { ResultStateRow } from './results/records/result-state.entity.js';
import { UnmatchedResult } from './results/unmatched/unmatched-result.entity.js';
import { VoucherRedemption } from './vouchers/voucher-redemption.entity.js';
import { Voucher } from './vouchers/voucher.entity.js';
import { Accounts1763640000000 } from './migrations/1763640000000-accounts.js';
import { Auth1763640100000 } from './migrations/1763640100000-auth.js';
import { Platform1763640200000 } from './migrations/1763640200000-platform.js';
import { Changes1763640300000 } from './migrations/1763640300000-changes.js';
import { Eligibility1763640400000 } from './migrations/1763640400000-eligibility.js';
import { Vouchers1763640500000 } from './migrations/1763640500000-vouchers.js';
import { Launch1763640600000 } from './migrations/1763640600000-launch.js';
import { Bookings1763640700000 } from './migrations/1763640700000-bookings.js';
import { Results1763640800000 } from './migrations/1763640800000-results.js';
import { Notifications1763640900000 } from './migrations/1763640900000-notifications.js';
import { Imports1763641000000 } from './migrations/1763641000000-imports.js';
import { ResultStates1764500000000 } from './migrations/1764500000000-result-states.js';
import { ImportsFileName1764500800000 } from './migrations/1764500800000-imports-file-name.js';
import { AttemptOutcomes1764500900000 } from './migrations/1764500900000-attempt-outcomes.js';
import { RepeatedResults1764501000000 } from './migrations/1764501000000-repeated-results.js';
import { RetakePolicies1764500100000 } from './migrations/1764500100000-retake-policies.js';
import { RecordChanges1764500200000 } from './migrations/1764500200000-record-changes.js';
import { ExpiringDays1764500300000 } from './migrations/1764500300000-expiring-days.js';
import { Alerts1764500400000 } from './migrations/1764500400000-alerts.js';
import { PartnerCallers1764500500000 } from './migrations/1764500500000-partner-callers.js';
import { PollDelivery1764500600000 } from './migrations/1764500600000-poll-delivery.js';
import { Digests1764500700000 } from './migrations/1764500700000-digests.js';

/** The TypeORM entities of all tables. */
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
  ExpiryNotice,
  SearchKey,
  Import,
  ImportChunk,
  ImportTurn,
  SigningKey,
  Launch,
  Delivery,
  ErrorQueueCause,
  Job,
  JobItem,
  JobPart,
  NotificationAttempt,
  Notification,
  PollOffer,
  DeliveredDigest,
  DigestBackfill,
  DigestBucket,
  DigestChange,
  Subscription,
  AuditRow,
  ChangeEpoch,
  ChangeRow,
  EventListener,
  EventStream,
  AuditSeal,
  StoredEventRow,
  IdempotencyKey,
  AccountResultId,
  RegistrationLocator,
  ResultBytes,
  ResultRevision,
  ResultStateRow,
  UnmatchedResult,
  VoucherRedemption,
  Voucher,
  Alert,
  AlertOccurrence,
  AlertMessage,
];

/** The database migrations, in the order in which they run. */
const MIGRATIONS = [
  Accounts1763640000000,
  Auth1763640100000,
  Platform1763640200000,
  Changes1763640300000,
  Eligibility1763640400000,
  Vouchers1763640500000,
  Launch1763640600000,
  Bookings1763640700000,
  Results1763640800000,
  Notifications1763640900000,
  Imports1763641000000,
  ResultStates1764500000000,
  RetakePolicies1764500100000,
  RecordChanges1764500200000,
  ExpiringDays1764500300000,
  Alerts1764500400000,
  PartnerCallers1764500500000,
  ImportsFileName1764500800000,
  PollDelivery1764500600000,
  Digests1764500700000,
  AttemptOutcomes1764500900000,
  RepeatedResults1764501000000,
];

/**
 * Returns the options of the TypeORM data source, for the application and for the migration commands (ormconfig.ts).
 * Only migrations change the database schema; TypeORM never derives it from the entities.
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
