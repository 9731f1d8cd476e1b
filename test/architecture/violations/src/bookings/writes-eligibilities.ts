export const SAVE = `WITH saved AS (UPDATE eligibilities SET status = $2 RETURNING 1) SELECT count(*) FROM saved`;
