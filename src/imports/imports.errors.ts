import { defineProblem } from '../platform/errors.js';

export const malformedCsv = defineProblem(
  'malformed_csv',
  'invalid',
  'The body is not well-formed CSV',
  'The body must be comma-separated values in UTF-8 (RFC 4180) whose first line names the columns.',
);
export const malformedNdjson = defineProblem(
  'malformed_ndjson',
  'invalid',
  'The body is not newline-delimited JSON',
  'The body must be lines in UTF-8, each one JSON object.',
);
export const importEnded = defineProblem(
  'import_ended',
  'conflict',
  'The import has ended',
  'An import that is DONE, FAILED or ABORTED cannot be aborted.',
);
