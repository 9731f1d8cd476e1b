import { defineProblem } from '../platform/errors.js';

export const cursorExpired = defineProblem(
  'cursor_expired',
  'gone',
  'The cursor has expired',
  'The service no longer stores the changes after this cursor, or the database was restored to an earlier time. Request the changes with `after=now`, and store the address of the next page. Then read all records again, and continue with the stored address.',
);
