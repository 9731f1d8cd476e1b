import { defineProblem } from '../platform/errors.js';

export const cursorExpired = defineProblem(
  'cursor_expired',
  'gone',
  'The cursor is too old',
  'Changes after this cursor are no longer kept, or the database was taken back to a moment before it. Read the records themselves, and go on from `after=now`.',
);
