const AT = `clock_timestamp()`;
export const WAIT = `UPDATE waits SET until = ${AT} + make_interval(secs => random()), turn = nextval('turns')`;
