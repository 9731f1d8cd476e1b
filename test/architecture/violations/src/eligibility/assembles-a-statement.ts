export const find = (database, limit: number) =>
  database.query({ text: `SELECT 1 FROM eligibilities WHERE account_code = $1 LIMIT ${limit}` });
