// The public interface of the package.
export { catchUp, FeedUnavailable, type FeedOptions } from './catch-up.js';
export {
  NotificationReceiver,
  UnknownRecord,
  type ReceivedAnswer,
  type ReceiverOptions,
} from './notification-receiver.js';
export {
  CHANGE_REASONS,
  isSample,
  MalformedNotification,
  parseNotification,
  type ChangeReason,
  type NotificationRequest,
  type NotifiedPortion,
} from './notification-request.js';
export { MemoryStore, type NotificationStore, type Outcome, type Received } from './notification-store.js';
export { POSTGRES_SCHEMA, PostgresStore, type PostgresClient, type PostgresPool } from './postgres-store.js';
export { notificationListener, notificationPlugin } from './servers.js';
export { InvalidSignature, sign, verifySignature, type Headers, type VerifyOptions } from './signature.js';
