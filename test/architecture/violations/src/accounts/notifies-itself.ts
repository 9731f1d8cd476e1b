import { prepared } from '../platform/database';

/** Violates the rule on NOTIFY: the message is sent within a transaction. */
export const NOTIFY = prepared('accounts-notify', `SELECT pg_notify('accounts', $1)`);
