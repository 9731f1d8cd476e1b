import { declareFaults, defineProblem } from '../platform/errors.js';

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

declareFaults({
  import_aborted: ['The import was aborted before this row.', 'Send the rows that were not done as a new import.'],
  import_aborted_by_operator: [
    'An operator of the service aborted the import before this row.',
    'Ask the operator for the reason; then send the rows that were not done as a new import.',
  ],
  import_access_lost: [
    'The import ended before this row: its user or application was disabled, or lost the scope `create` or the account.',
    'Have an operator restore the access, or send the rows that were not done as another user.',
  ],
  import_empty: ['The file has columns and no rows.', 'See whether it is the right file.'],
  import_body_lost: ['The body of the import did not arrive.', 'Send the file again.'],
});
