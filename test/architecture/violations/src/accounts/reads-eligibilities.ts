export const USE = prepared('use', `SELECT 1 FROM eligibilities WHERE account_code = $1`);
