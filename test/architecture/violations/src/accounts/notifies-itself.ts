import { prepared } from '../platform/database';

/** Broken: a message that is sent within a transaction. */
export const NOTIFY = prepared('accounts-notify', `SELECT pg_notify('accounts', $1)`);
