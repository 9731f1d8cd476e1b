import { defineProblem } from '../platform/errors.js';

export const cursorExpired = defineProblem(
  'cursor_expired',
  'gone',
  'The cursor has expired',
  'The changes after this cursor are no longer kept, or the database was restored to an earlier time. Read the records themselves, and then continue with `after=now`.',
);
