import type { Database } from '../platform/database/database.js';
export type Asked = Database;
