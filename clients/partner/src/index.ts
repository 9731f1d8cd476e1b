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
export {
  MemoryStore,
  type KeptNotification,
  type NotificationStore,
  type Outcome,
  type Received,
} from './notification-store.js';
export { digestOf, stepsOf, type DigestStep } from './digest.js';
export { FileStore } from './file-store.js';
export { heal, type HealResult } from './heal.js';
export { PartnerApi, PartnerApiError, type PartnerApiOptions, type PartnerResponse } from './partner-api.js';
export { poll, type PollOptions } from './poll.js';
export { type RecordChange } from './record-change.js';
export { POSTGRES_SCHEMA, PostgresStore, type PostgresClient, type PostgresPool } from './postgres-store.js';
export { notificationListener, notificationPlugin } from './servers.js';
export { InvalidSignature, sign, verifySignature, type Headers, type VerifyOptions } from './signature.js';
