export const here = 'sessions';
