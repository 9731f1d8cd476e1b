import { defineProblem } from '../platform/errors.js';

export const cursorExpired = defineProblem(
  'cursor_expired',
  'gone',
  'The cursor has expired',
  'The changes after this cursor are no longer kept, or the database was restored to an earlier time. Request `after=now`, and keep the address of the next page. Then read the records themselves, and continue with the kept address.',
);
