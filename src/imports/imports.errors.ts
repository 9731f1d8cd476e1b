import { declareFaults, defineProblem } from '../platform/errors.js';

export const malformedCsv = defineProblem(
  'malformed_csv',
  'invalid',
  'The body is not well-formed CSV',
  'The body must be a CSV file (RFC 4180). Its first line must contain the names of the columns.',
);
export const malformedNdjson = defineProblem(
  'malformed_ndjson',
  'invalid',
  'The body is not newline-delimited JSON',
  'The body must be UTF-8 text with one JSON object on each line.',
);
export const importEnded = defineProblem(
  'import_ended',
  'conflict',
  'The import has ended',
  'An import that is DONE, FAILED or ABORTED can no longer be aborted.',
);

declareFaults({
  import_aborted: [
    'The import was aborted before this row was processed.',
    'Send the unprocessed rows in a new import.',
  ],
  import_aborted_by_operator: [
    'An operator of the service aborted the import before this row was processed.',
    'Ask the operator for the reason. Then send the unprocessed rows in a new import.',
  ],
  import_access_lost: [
    'The import stopped before this row, because the user or application that started the import was disabled, or lost the scope `create` or access to the account.',
    'Ask an operator to restore the access, or let another user send the unprocessed rows in a new import.',
  ],
  import_empty: ['The file has a header line, but no rows.', 'Check that you sent the right file.'],
  import_body_lost: ['The connection was lost before the whole file arrived.', 'Send the file again.'],
});
