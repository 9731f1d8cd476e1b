export const USE = prepared('use-in-lower-case', 'select 1 from eligibilities where account_code = $1');
