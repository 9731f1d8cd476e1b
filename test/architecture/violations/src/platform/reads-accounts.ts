export const ALL = `ARRAY(SELECT account_code FROM accounts)`;
