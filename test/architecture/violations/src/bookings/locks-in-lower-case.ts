export const LOCK = { text: 'select 1 from eligibilities e where account_code = $1 for no key update of e' };
export const LOCK_ALL = { text: 'lock table eligibilities in share mode', across: 'sweep' };
