export const SAVE = prepared(
  'save',
  `WITH saved AS (UPDATE eligibilities SET status = $2 WHERE account_code = $1 RETURNING 1) SELECT count(*) FROM saved`,
);
