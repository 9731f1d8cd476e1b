export const IN_CTE = prepared(
  'in-a-cte',
  'with seen as (select status from eligibilities where account_code = $1) select count(*) from seen',
);
export const IN_EXISTS = { text: 'select exists (select from public.bookings where account_code = $1)' };
